// Serves the page and Grafana's icons, and passes queries on to Prometheus. The past does not change, so an answer is
// kept for the same page in another width or theme.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleOf, packagesOf } from './build.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const ICONS = 'node_modules/@grafana/ui/dist/public/img/icons';
const TYPES = { '.css': 'text/css', '.html': 'text/html', '.js': 'text/javascript', '.svg': 'image/svg+xml' };

async function bodyOf(request) {
  const parts = [];
  for await (const part of request) {
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

async function asked(prometheus, address, request, body) {
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  const how = request.method === 'POST' ? { method: 'POST', headers: type, body } : {};
  try {
    const answer = await fetch(prometheus + address, how);
    return { status: answer.status, text: await answer.text() };
  } catch (error) {
    return { status: 502, text: JSON.stringify({ status: 'error', error: String(error.cause ?? error) }) };
  }
}

function fileOf(address, version) {
  const icon = address.match(/img\/icons\/(.*)$/);
  const bundle = address.match(/^\/dist\/(page\..*)$/);
  const file = icon
    ? path.join(packagesOf(version), ICONS, icon[1])
    : bundle
      ? path.join(bundleOf(version), bundle[1])
      : path.join(HERE, address === '/' ? 'index.html' : address);
  return file.startsWith(HERE) && fs.existsSync(file) && fs.statSync(file).isFile() ? file : undefined;
}

export async function serve(prometheus, version) {
  const answers = new Map();
  const server = http.createServer(async (request, response) => {
    const url = new URL(request.url, 'http://127.0.0.1');
    if (url.pathname.startsWith('/prometheus/')) {
      const address = url.pathname.replace('/prometheus', '') + url.search;
      const body = await bodyOf(request);
      const key = `${address}\n${body}`;
      if (!answers.has(key)) {
        answers.set(key, asked(prometheus, address, request, body));
      }
      const { status, text } = await answers.get(key);
      response.writeHead(status, { 'content-type': 'application/json' }).end(text);
      return;
    }
    const file = fileOf(decodeURIComponent(url.pathname), version);
    if (!file) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream' });
    fs.createReadStream(file).pipe(response);
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}
