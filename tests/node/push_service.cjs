// A push service for browsers, with the browsers: npm's web-push-testing, which checks and decrypts what it is sent. It is
// spoken with within TLS; the browsers' side, which asks for subscriptions and reads what arrived, is plain.
// After POST /hold/BROWSER/taken or /hold/BROWSER/lost there, the next push to that browser is taken, or is not, and whoever
// sent it waits for a word for ever; then the log says `holds BROWSER`.
//
//   node push_service.cjs HOST PLAIN_HOST PORT KEY_AND_CERTIFICATE
const fs = require('fs');
const http = require('http');
const https = require('https');
const {PushApiModel} = require('web-push-testing/src/PushApiModel.js');
const Server = require('web-push-testing/src/server.js');

const [host, plainHost, port, file] = process.argv.slice(2);
const model = new PushApiModel();
const service = new Server(model, Number(port));
model.notifyUrl = `https://${host}:${port}/notify/`;
service.setRequestHandlers();
const held = new Map();
const browsers = (request, response) => {
  const [, word, browser, what] = request.url.split('/');
  if (word !== 'hold') return service._app(request, response);
  held.set(browser, what);
  response.end();
};
const pushes = (request, response) => {
  const browser = request.url.split('/')[2];
  const what = held.get(browser);
  if (!held.delete(browser)) return service._app(request, response);
  const hold = () => console.log(`holds ${browser}`);
  if (what === 'lost') return request.resume().on('end', hold);
  response.end = hold;
  service._app(request, response);
};
const pem = fs.readFileSync(file);
http.createServer(browsers).listen(Number(port), plainHost, () => {
  https.createServer({key: pem, cert: pem}, pushes).listen(Number(port), host, () => console.log('ready'));
});
