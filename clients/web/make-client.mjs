// Makes src/client.js and src/client.d.ts of what docs/openapi.json says that a person may ask for with their own token.
//
//   node make-client.mjs            writes them
//   node make-client.mjs --check    says whether they are what it would write
import fs from 'node:fs';

const HERE = new URL('.', import.meta.url);
const SOURCE = new URL('../../docs/openapi.json', HERE);
const OPENING = '// Made by make-client.mjs of docs/openapi.json: change neither here.\n';
const METHODS = ['get', 'put', 'post', 'delete', 'patch'];
const WIDTH = 125;

const api = JSON.parse(fs.readFileSync(process.env.TIDINGS_OPENAPI ?? SOURCE, 'utf8'));
const camel = text => text.replace(/[-_](\w)/g, (_, letter) => letter.toUpperCase());
const pascal = text => text[0].toUpperCase() + text.slice(1);
const comment = (text, indent) => (text ? `${indent}/** ${text.replace(/\s+/g, ' ').replace(/\*\//g, '')} */\n` : '');
const follow = what => (what?.$ref ? what.$ref.split('/').slice(1).reduce((part, name) => part[name], api) : what);

// What a person may ask for.
function listOperations() {
  const found = [];
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of METHODS.filter(method => item[method])) {
      const operation = item[method];
      if (!operation.security?.some(way => way.person)) continue;
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(follow);
      const {content = {}} = follow(operation.responses['200'] ?? operation.responses['202'] ?? {});
      found.push({
        path, method, operation,
        names: parameters.filter(one => one.in === 'path' && one.name !== 'id').map(one => one.name),
        query: parameters.filter(one => one.in === 'query'),
        body: follow(operation.requestBody)?.content?.['application/json']?.schema,
        isStream: 'text/event-stream' in content,
        answer: content['application/json']?.schema,
      });
    }
  }
  return found;
}

function writeScript(operations) {
  const lines = operations.map(({path, method, operation, names, query, body, isStream}) => {
    const given = [...names.map(camel), ...(body ? ['body'] : []), ...(query.length ? ['query'] : []), 'options'];
    const address = path.replace(/\{([^}]+)\}/g, (_, name) => `\${encodeURIComponent(${name === 'id' ? 'this.person' : camel(name)})}`);
    const what = [...(query.length ? ['query'] : []), ...(body ? ['body'] : []), ...(isStream ? ['isStream: true'] : [])].join(', ');
    return `${comment(operation.summary, '  ')}  ${operation.operationId}(${given.join(', ')}) {
    return this.ask('${method.toUpperCase()}', \`${address}\`, {${what}}, options);
  }`;
  });
  return `${OPENING}import {TidingsRequest} from './request.js';

/** What a person may ask the house for. */
export class TidingsClient extends TidingsRequest {
${lines.join('\n\n')}
}
`;
}

// A type for a schema; those with a name are written out once, below.
function type(schema, used) {
  if (!schema || schema === true) return 'unknown';
  if (schema.$ref) {
    const name = schema.$ref.split('/').at(-1);
    used.add(name);
    return pascal(name);
  }
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map(value => JSON.stringify(value)).join(' | ');
  const several = schema.anyOf ?? schema.oneOf;
  const own = schema.properties ? [shape(schema, used, '  ')] : [];
  if (several) return [...own, unite(several.map(one => type(one, used)), own.length > 0)].join(' & ');
  if (schema.allOf) return [...own, ...schema.allOf.map(one => type(one, used))].join(' & ');
  if (Array.isArray(schema.type)) return unite(schema.type.map(one => type({...schema, type: one}, used)), false);
  switch (schema.type) {
    case 'integer': return 'number';
    case 'array': {
      const inner = type(schema.items, used);
      return /[|&]/.test(inner) ? `(${inner})[]` : `${inner}[]`;
    }
    case 'object': return own[0] ?? `Record<string, ${type(schema.additionalProperties, used)}>`;
    case 'string': case 'number': case 'boolean': case 'null': return schema.type;
    default: return own[0] ?? 'unknown';
  }
}

function unite(types, isWithin) {
  const text = [...new Set(types)].join(' | ');
  return isWithin && types.length > 1 ? `(${text})` : text;
}

function shape({properties, required = []}, used, indent) {
  const lines = Object.entries(properties).map(([name, schema]) =>
    `${comment(schema.description, indent)}${indent}${/^\w+$/.test(name) ? name : `'${name}'`}${required.includes(name) ? '' : '?'}: ${type(schema, used).replace(/\n/g, `\n${indent}`)};`);
  return `{\n${lines.join('\n')}\n${indent.slice(2)}}`;
}

function writeTypes(operations) {
  const used = new Set();
  const methods = operations.map(({operation, names, query, body, isStream, answer}) => {
    const asked = query.map(one => `${one.name}?: ${type(one.schema, used)} | null`).join('; ');
    const given = [
      ...names.map(name => `${camel(name)}: string`),
      ...(body ? [`body: ${type(body, used)}`] : []),
      ...(query.length ? [`query?: {${asked}}`] : []),
      'options?: TidingsOptions',
    ];
    const back = isStream ? 'Response' : type(answer, used);
    const line = `  ${operation.operationId}(${given.join(', ')}): Promise<${back}>;`;
    return `${comment(operation.summary, '  ')}${line.length > WIDTH ? line.replace(/\(/, '(\n    ').replace(/, (?=query|body|options)/g, ',\n    ') : line}`;
  });
  const types = new Map();
  for (const name of used) {
    if (types.has(name)) continue;
    const schema = api.components.schemas[name];
    // A set goes on with what is added to it meanwhile.
    types.set(name, `${comment(schema.description, '')}export type ${pascal(name)} = ${type(schema, used)};`);
  }
  return `${OPENING}import {TidingsRequest, type TidingsOptions} from './request.js';

/** What a person may ask the house for. */
export class TidingsClient extends TidingsRequest {
${methods.join('\n')}
}

${[...types.values()].join('\n\n')}
`;
}

const operations = listOperations();
const files = {'src/client.js': writeScript(operations), 'src/client.d.ts': writeTypes(operations)};
const isCheck = process.argv.includes('--check');
for (const [file, text] of Object.entries(files)) {
  const path = new URL(file, HERE);
  if (!isCheck) fs.writeFileSync(path, text);
  else if (fs.readFileSync(path, 'utf8') !== text) {
    console.error(`${file} is not what docs/openapi.json says: node clients/web/make-client.mjs`);
    process.exitCode = 1;
  }
}
