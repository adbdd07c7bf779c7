// What linters say of the HTML of mails: html-validate of the language, and doiuse-email of what mailboxes can do by
// caniemail.com. Prints JSON: by file what is wrong.
//
//   node mail_lint.cjs MAIL.html...
const fs = require('fs');
const path = require('path');
const {HtmlValidate} = require('html-validate');
const {doIUseEmail} = require('@jsx-email/doiuse-email');

// What is bad manners in a page is how a mail looks right in Outlook: tables with attributes, styles in elements, comments
// that only it reads.
const MANNERS = [
  'doctype-style', 'void-style', 'no-conditional-comment', 'no-inline-style', 'no-deprecated-attr', 'prefer-native-element',
  'long-title', 'no-trailing-whitespace', 'no-implicit-button-type',
];
const pages = new HtmlValidate({
  extends: ['html-validate:recommended', 'html-validate:document', 'html-validate:a11y'],
  rules: {
    ...Object.fromEntries(MANNERS.map(rule => [rule, 'off'])),
    // `height="auto"` of an image, which MJML writes for Outlook.
    'attribute-allowed-values': 'off',
  },
});

const CLIENTS = ['gmail.*', 'apple-mail.*', 'outlook.*', 'yahoo.*', 'samsung-email.*'];
// Where these are not there, a mail is as good to read: corners, help for screen readers, the line beside the headline.
const WITHOUT = [
  '<body> element', 'word-spacing', 'word-break', 'border-radius', 'border-spacing', 'outline', 'opacity', 'overflow', 'display:none',
  'aria-label attribute', 'role attribute', 'target attribute', 'dir attribute', 'lang attribute',
];

// Mailboxes that drop each style see what is left; what is in a style is never needed.
const bare = html => html.replace(/<!--[\s\S]*?-->/g, '').replace(/<style[\s\S]*?<\/style>/g, '');

function unsupported(html) {
  const said = doIUseEmail(bare(html), {emailClients: CLIENTS}).errors || [];
  const features = said.map(line => /`(.+?)` is not supported by `(.+?)`/.exec(line) || [line, line, '']);
  const known = feature => WITHOUT.includes(feature);
  return [...new Set(features.filter(([, feature]) => !known(feature)).map(([, feature, client]) => `${client} has no ${feature}`))];
}

async function main() {
  const wrong = {};
  for (const file of process.argv.slice(2)) {
    const html = fs.readFileSync(file, 'utf8');
    const report = await pages.validateString(html);
    const said = report.results.flatMap(result => result.messages)
      .map(({line, column, ruleId, message}) => `${line}:${column} ${ruleId}: ${message}`);
    wrong[path.basename(file)] = [...new Set(said), ...unsupported(html)];
  }
  console.log(JSON.stringify(wrong));
}

main();
