// Shows dashboards in Chromium, one after the other: `node run.mjs jobs.json`. Of each view it writes what the page tells
// (NAME.json) and, where asked for, a picture (NAME.png). jobs.json:
//   {chromium, prometheus, out, version?, views: [{name, file, width, theme, from, to, expanded, search?, picture?}]}
import fs from 'node:fs';
import path from 'node:path';
import puppeteer from 'puppeteer-core';
import { build } from './build.mjs';
import { serve } from './serve.mjs';

const GRID_LINE = 38; // pixels of a grid unit, with its gap
const TALLEST = 16_000; // what Chromium paints in one piece
const POLL = 250;
const QUIET = 6; // polls without a new query after which a page is complete
const PATIENCE = 300_000;

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** The page is made tall at once: after a later change of its size Chromium leaves panels blank. */
function heightOf(dashboard) {
  const panels = dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]);
  return Math.min(TALLEST, (Math.max(...panels.map(({ gridPos }) => gridPos.y + gridPos.h)) + 60) * GRID_LINE + 250);
}

async function complete(page) {
  const until = Date.now() + PATIENCE;
  let last = '';
  for (let quiet = 0; quiet < QUIET; ) {
    if (Date.now() > until) {
      throw new Error(`queries are still running: ${last}`);
    }
    await pause(POLL);
    const [queries, waiting] = await page.evaluate(() => window.harness.progress());
    const now = `${queries} sent, ${waiting} open`;
    quiet = now === last && waiting === 0 ? quiet + 1 : 0;
    last = now;
  }
}

async function show(browser, url, view, out) {
  const dashboard = JSON.parse(fs.readFileSync(view.file, 'utf8'));
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE);
  const said = new Set();
  page.on('pageerror', (error) => said.add(`exception: ${error.stack ?? error.message}`));
  page.on('console', (message) => {
    // Grafana's server has fonts and icons under /public/ that its packages lack.
    if (message.type() === 'error' && !message.location().url?.includes('/public/')) {
      said.add(`console: ${message.text()} ${message.location().url ?? ""}`);
    }
  });
  try {
    await page.setViewport({ width: view.width, height: heightOf(dashboard) });
    await page.goto(`${url}/?theme=${view.theme}`);
    await page.waitForFunction(() => window.harness);
    await page.evaluate((given, how) => window.harness.show(given, how), dashboard, view);
    await complete(page);
    const found = JSON.parse(await page.evaluate(() => window.harness.dump()));
    fs.writeFileSync(path.join(out, `${view.name}.json`), JSON.stringify({ ...found, said: [...said] }, null, 1));
    if (view.picture) {
      const height = Math.min(TALLEST, found.height + 20);
      const clip = { x: 0, y: 0, width: view.width, height };
      await page.screenshot({ path: path.join(out, `${view.name}.png`), clip, captureBeyondViewport: false });
    }
  } finally {
    await page.close();
  }
}

const jobs = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
await build(jobs.version);
const server = await serve(jobs.prometheus, jobs.version);
const browser = await puppeteer.launch({
  executablePath: jobs.chromium,
  protocolTimeout: PATIENCE,
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars'],
});
try {
  for (const view of jobs.views) {
    const begun = Date.now();
    await show(browser, server.url, view, jobs.out);
    console.log(`${view.name}: ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  }
} finally {
  await browser.close();
  server.close();
}
