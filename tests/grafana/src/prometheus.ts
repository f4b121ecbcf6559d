// What the server side of Grafana's Prometheus data source does: the step, the macros, and the frames of an answer.
import { rangeUtil } from '@grafana/data';
import type { BackendSrvRequest } from '@grafana/runtime';
import { from } from 'rxjs';

const ADDRESS = '/prometheus/api/v1'; // The harness' own server passes it on.
export const SCRAPE_INTERVAL = '15s'; // Grafana's default for a data source.
const MOST_POINTS = 11_000;

interface Query {
  refId: string;
  expr: string;
  instant?: boolean;
  range?: boolean;
  interval?: string;
  intervalMs?: number;
  maxDataPoints?: number;
  legendFormat?: string;
}
interface Sample {
  metric: Record<string, string>;
  value?: [number, string];
  values?: Array<[number, string]>;
}
interface Sent {
  expr: string;
  instant: boolean;
  stepMs: number;
  error?: string;
  warnings?: string[];
}

/** All that was asked, for the checks; what cannot be answered here is listed as `unknown`. */
export const asked = { queries: [] as Sent[], unknown: [] as string[], running: 0 };

function stepOf(query: Query, from: number, to: number): number {
  const own = query.interval && !query.interval.includes('$') ? rangeUtil.intervalToMs(query.interval) : 0;
  const least = own || query.intervalMs || rangeUtil.intervalToMs(SCRAPE_INTERVAL);
  const even = (to - from) / (query.maxDataPoints || 1500);
  const wanted = even < least ? least : rangeUtil.roundInterval(even);
  return Math.max(wanted, rangeUtil.roundInterval((to - from) / MOST_POINTS));
}

/** As Go writes a duration: 1m0s. */
function written(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 60) {
    return `${seconds}s`;
  }
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  return `${hours ? `${hours}h` : ''}${minutes}m${seconds % 60}s`;
}

function withMacros(query: Query, stepMs: number, from: number, to: number): string {
  const scrape = rangeUtil.intervalToMs(query.interval && !query.interval.includes('$') ? query.interval : SCRAPE_INTERVAL);
  const rate = Math.max(stepMs + scrape, 4 * scrape);
  const range = Math.round((to - from) / 1000);
  // The longer names first, for $__range_ms begins with $__range.
  const values = [
    ['__rate_interval_ms', String(rate)],
    ['__rate_interval', written(rate)],
    ['__interval_ms', String(stepMs)],
    ['__interval', written(stepMs)],
    ['__range_ms', String(to - from)],
    ['__range_s', String(range)],
    ['__range', `${range}s`],
  ];
  return values.reduce(
    (expr, [name, value]) => expr.replaceAll(`\${${name}}`, value).replaceAll(`$${name}`, value),
    query.expr
  );
}

function seriesName(query: Query, labels: Record<string, string>): string {
  if (query.legendFormat && query.legendFormat !== '__auto') {
    return query.legendFormat.replace(/\{\{\s*(.+?)\s*\}\}/g, (_, label: string) => labels[label.trim()] ?? '');
  }
  if (query.legendFormat === '__auto' && Object.keys(labels).length) {
    return '';
  }
  const { __name__ = '', ...rest } = labels;
  const inside = Object.keys(rest)
    .sort()
    .map((key) => `${key}="${rest[key]}"`);
  const name = inside.length || !__name__ ? `${__name__}{${inside.join(', ')}}` : __name__;
  return name === '{}' ? query.expr : name;
}

/** Values as JSON can hold them, and where those are that it cannot. */
function encoded(texts: string[]) {
  const entities: Record<string, number[]> = {};
  const names: Record<string, string> = { NaN: 'NaN', '+Inf': 'Inf', Inf: 'Inf', '-Inf': 'NegInf' };
  const values = texts.map((text, index) => {
    if (text in names) {
      (entities[names[text]] ??= []).push(index);
      return null;
    }
    return Number(text);
  });
  return { values, entities: Object.keys(entities).length ? entities : null };
}

function frameOf(query: Query, sample: Sample, meta: object, stepMs: number) {
  const points = sample.values ?? (sample.value ? [sample.value] : []);
  const { values, entities } = encoded(points.map(([, text]) => text));
  const name = seriesName(query, sample.metric);
  const fields = [
    { name: 'Time', type: 'time', typeInfo: { frame: 'time.Time' }, config: { interval: stepMs } },
    {
      name: 'Value',
      type: 'number',
      typeInfo: { frame: 'float64' },
      labels: sample.metric,
      config: name ? { displayNameFromDS: name } : {},
    },
  ];
  const times = points.map(([at]) => Math.round(at * 1000));
  const data = { values: [times, values], ...(entities ? { entities: [null, entities] } : {}) };
  return { schema: { refId: query.refId, name, meta, fields }, data };
}

async function answer(query: Query, from: number, to: number) {
  const stepMs = stepOf(query, from, to);
  const expr = withMacros(query, stepMs, from, to);
  const instant = Boolean(query.instant && !query.range);
  const aligned = (at: number) => String((Math.floor(at / stepMs) * stepMs) / 1000);
  const when: Record<string, string> = instant
    ? { time: String(to / 1000) }
    : { start: aligned(from), end: aligned(to), step: String(stepMs / 1000) };
  const path = instant ? 'query' : 'query_range';
  const response = await fetch(`${ADDRESS}/${path}`, { method: 'POST', body: new URLSearchParams({ query: expr, ...when }) });
  const said = await response.json();
  asked.queries.push({ expr, instant, stepMs, error: said.error, warnings: said.warnings });
  if (said.status !== 'success') {
    return { status: 400, error: `bad_data: ${said.error}`, frames: [] };
  }
  const kind: string = said.data.resultType;
  const samples: Sample[] = kind === 'scalar' ? [{ metric: {}, value: said.data.result }] : said.data.result;
  const meta = {
    type: instant ? 'numeric-multi' : 'timeseries-multi',
    typeVersion: [0, 1],
    custom: { resultType: kind },
    executedQueryString: `Expr: ${expr}\nStep: ${written(stepMs)}`,
  };
  const frames: object[] = samples.map((sample) => frameOf(query, sample, meta, stepMs));
  // Grafana answers with one frame without fields where there is no series.
  return { status: 200, frames: frames.length ? frames : [{ schema: { refId: query.refId, meta, fields: [] }, data: { values: [] } }] };
}

async function queried(request: BackendSrvRequest) {
  const { queries, from, to } = request.data as { queries: Query[]; from: string; to: string };
  const answers = await Promise.all(
    queries.map(async (query) => [query.refId, await answer(query, Number(from), Number(to))] as const)
  );
  const ok = answers.every(([, one]) => one.status === 200);
  return { data: { results: Object.fromEntries(answers) }, status: ok ? 200 : 400, ok };
}

async function resource(path: string, request: BackendSrvRequest) {
  const given: Record<string, unknown> = { ...request.params, ...(typeof request.data === 'object' ? request.data : {}) };
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(given)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      params.append(key, String(one));
    }
  }
  const address = `${ADDRESS}/${path.replace(/^api\/v1\//, '')}`;
  const response =
    request.method === 'POST' ? await fetch(address, { method: 'POST', body: params }) : await fetch(params.size ? `${address}?${params}` : address);
  return { data: await response.json(), status: response.status, ok: response.ok };
}

async function handled(request: BackendSrvRequest): Promise<object> {
  asked.running++;
  try {
    if (request.url.startsWith('/api/ds/query')) {
      return await queried(request);
    }
    const path = request.url.match(/\/resources\/(.*)$/)?.[1];
    if (path) {
      return await resource(path, request);
    }
    asked.unknown.push(request.url);
    return { data: {}, status: 200, ok: true };
  } finally {
    asked.running--;
  }
}

const nothing = async () => ({});
export const backend = {
  fetch: (request: BackendSrvRequest) => from(handled(request)),
  datasourceRequest: handled,
  get: nothing,
  post: nothing,
  put: nothing,
  patch: nothing,
  delete: nothing,
  request: nothing,
  resolveCancelerIfExists: () => undefined,
};
