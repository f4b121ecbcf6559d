// The services that Grafana's app gives its packages, with one data source: the Prometheus of the test.
import {
  createTheme,
  EventBusSrv,
  LoadingState,
  toDataFrame,
  type DataFrame,
  type DataQueryRequest,
  type DataQueryResponse,
  type DataSourceApi,
  type DataSourceInstanceSettings,
  type PanelData,
  type ScopedVars,
} from '@grafana/data';
import { PrometheusDatasource, type PromOptions } from '@grafana/prometheus';
import * as runtime from '@grafana/runtime';
import { initializeLoggersRegistry } from '@grafana/runtime/unstable';
import { sceneGraph, type SceneObject } from '@grafana/scenes';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { panelPlugin } from './panels';
import { backend, SCRAPE_INTERVAL } from './prometheus';

export const theme = createTheme({
  colors: { mode: new URLSearchParams(window.location.search).get('theme') === 'light' ? 'light' : 'dark' },
});
export const UID = 'prometheus-of-the-test';
/** What asked for a data source that does not exist, or failed while it ran. */
export const failures: string[] = [];

const current: { scene?: SceneObject } = {};
/** Interpolation outside of a panel reads this scene's variables. */
export function setCurrent(scene: SceneObject): void {
  current.scene = scene;
}

type Format = string | ((value: unknown) => string);

function replace(target = '', scoped?: ScopedVars, format?: Format): string {
  const scene = (scoped?.__sceneObject?.value?.valueOf() as SceneObject | undefined) ?? current.scene;
  return scene && target ? sceneGraph.interpolate(scene, target, scoped, format as never) : target;
}

const templates = {
  replace,
  getVariables: () => [],
  containsTemplate: (text?: string) => /\$[\w{]|\[\[/.test(text ?? ''),
  updateTimeRange: () => undefined,
  getAdhocFilters: () => [],
};

const instance = {
  id: 1,
  uid: UID,
  type: 'prometheus',
  name: 'Prometheus',
  access: 'proxy',
  url: '/api/datasources',
  isDefault: true,
  readOnly: true,
  meta: {
    id: 'prometheus',
    name: 'Prometheus',
    type: 'datasource',
    module: '',
    baseUrl: '',
    info: { logos: { small: '', large: '' }, version: '' },
    metrics: true,
    annotations: true,
  },
  jsonData: { httpMethod: 'POST', timeInterval: SCRAPE_INTERVAL, prometheusType: 'Prometheus', prometheusVersion: '3.5.0' },
} as unknown as DataSourceInstanceSettings<PromOptions>;

type Wanted = { uid?: string; type?: string } | string | null | undefined;

function sourceService() {
  const source = new PrometheusDatasource(instance, templates as never) as unknown as DataSourceApi;
  source.meta = instance.meta;
  const known = (wanted: Wanted, scoped?: ScopedVars): boolean => {
    const uid = replace(typeof wanted === 'string' ? wanted : wanted?.uid, scoped);
    return ['', UID, 'Prometheus', 'default'].includes(uid);
  };
  return {
    get: async (wanted: Wanted, scoped?: ScopedVars) => {
      if (!known(wanted, scoped)) {
        failures.push(`no such data source: ${JSON.stringify(wanted)}`);
      }
      return source;
    },
    getList: (filters?: { type?: string; pluginId?: string }) =>
      [filters?.type, filters?.pluginId].every((one) => !one || one === 'prometheus') ? [instance] : [],
    getInstanceSettings: () => instance,
    reload: () => undefined,
    registerRuntimeDataSource: () => undefined,
  };
}

type Ask = (request: DataQueryRequest) => Promise<DataQueryResponse> | Observable<DataQueryResponse>;

/** Grafana's runRequest in short: one answer, no streams. `ask` is given for variables, whose answers are no frames. */
function runRequest(source: DataSourceApi, request: DataQueryRequest, ask?: Ask): Observable<PanelData> {
  const base = { series: [] as DataFrame[], timeRange: request.range, request };
  const run = async (): Promise<PanelData> => {
    try {
      const answer = await lastValueFrom(from((ask ?? ((asked: DataQueryRequest) => source.query(asked)))(request)));
      const errors = answer.errors ?? (answer.error ? [answer.error] : undefined);
      const state = errors?.length ? LoadingState.Error : LoadingState.Done;
      if (ask) {
        return { ...base, state, errors, series: answer.data };
      }
      const frames = answer.data.map((one) => toDataFrame(one));
      const marks = frames.filter((frame) => frame.meta?.dataTopic === 'annotations');
      const series = frames.filter((frame) => !marks.includes(frame));
      return { ...base, state, errors, error: errors?.[0], series, annotations: marks };
    } catch (error) {
      failures.push(`query failed: ${error instanceof Error ? error.stack : JSON.stringify(error)}`);
      return { ...base, state: LoadingState.Error, error: runtime.toDataQueryError(error) };
    }
  };
  return from(run());
}

export function provide(): void {
  Object.assign(runtime.config, {
    theme2: theme,
    theme: theme.v1,
    datasources: { Prometheus: instance },
    defaultDatasource: 'Prometheus',
  });
  runtime.setBackendSrv(backend as never);
  initializeLoggersRegistry();
  runtime.setAppEvents(new EventBusSrv() as never);
  const silent = () => undefined;
  runtime.setEchoSrv({ addEvent: silent, addBackend: silent, flush: silent, onInteraction: () => silent });
  runtime.setTemplateSrv(templates as never);
  runtime.setDataSourceSrv(sourceService() as never);
  runtime.setRunRequest(runRequest as never);
  runtime.setPluginImportUtils({
    importPanelPlugin: async (id: string) => panelPlugin(id),
    getPanelPluginFromCache: panelPlugin,
  });
  const none = () => ({ links: [], components: [], component: null, functions: [], isLoading: false });
  // Not all versions have these.
  runtime.setPluginLinksHook?.(none);
  runtime.setPluginComponentsHook?.(none);
  runtime.setPluginComponentHook?.(none);
  runtime.setPluginFunctionsHook?.(none);
}

