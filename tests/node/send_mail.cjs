// Sends mails with Nodemailer.
//
//   node send_mail.cjs HOST PORT TO
//
// One of each kind: plain, with parts and an attachment, in other scripts, with lines that begin with a dot, and in a
// pool that reuses its connection. Prints the subjects that were accepted, one a line.
const nodemailer = require('nodemailer');

async function main([host, port, to]) {
  const pool = nodemailer.createTransport({host, port: Number(port), secure: false, pool: true, maxConnections: 1});
  const from = 'outside@example.org';
  const mails = [
    {subject: 'nodemailer plain', text: 'Hello'},
    {subject: 'nodemailer parts', text: 'Hello', html: '<p>Hello</p>', attachments: [{filename: 'a.txt', content: 'x'.repeat(70000)}]},
    {subject: 'nodemailer scripts', text: 'Grüße, 你好, مرحبا'},
    {subject: 'nodemailer dots', text: '.\r\n..\r\n.hidden\r\n', textEncoding: 'quoted-printable'},
  ];
  for (const mail of mails) {
    await pool.sendMail({from, to, ...mail});
    console.log(mail.subject);
  }
  pool.close();
}

main(process.argv.slice(2)).catch(error => {
  console.error(error);
  process.exit(1);
});
