// A dashboard's JSON as a scene, as Grafana's app makes it.
import { rangeUtil } from '@grafana/data';
import {
  behaviors,
  CustomVariable,
  dataLayers,
  DataSourceVariable,
  EmbeddedScene,
  QueryVariable,
  SceneControlsSpacer,
  SceneDataLayerSet,
  SceneDataTransformer,
  SceneGridItem,
  SceneGridLayout,
  SceneGridRow,
  SceneQueryRunner,
  SceneRefreshPicker,
  SceneTimePicker,
  SceneTimeRange,
  SceneVariableSet,
  VariableValueSelectors,
  VizPanel,
} from '@grafana/scenes';
import type { Dashboard, Panel, Variable } from './model';

export interface Shown {
  from: string; // as ISO text: Grafana reads bare milliseconds as something else
  to: string;
  expanded: boolean; // whether collapsed rows are opened
}

// Grafana's app shows such variables in the menu of the dashboard's controls, which is left out here.
const IN_MENU = 3;
const HIDDEN = 2;

function variableOf(given: Variable) {
  const own = {
    name: given.name,
    label: given.label,
    description: given.description,
    hide: given.hide === IN_MENU ? HIDDEN : (given.hide ?? 0),
    skipUrlSync: given.skipUrlSync,
    value: given.current?.value ?? '',
    text: given.current?.text ?? '',
    isMulti: Boolean(given.multi),
    includeAll: Boolean(given.includeAll),
    defaultToAll: Boolean(given.includeAll),
    allValue: given.allValue || undefined,
  };
  switch (given.type) {
    case 'datasource':
      return new DataSourceVariable({ ...own, pluginId: String(given.query), regex: given.regex });
    case 'query': {
      const { query, datasource, sort, refresh, regex, definition } = given;
      return new QueryVariable({ ...own, query, datasource, sort, refresh, regex, definition } as never);
    }
    case 'custom':
      return new CustomVariable({ ...own, query: String(given.query) });
    default:
      throw new Error(`variable ${given.name}: type ${given.type} is unknown here`);
  }
}

const rangeOf = (from: string, to: string) => new SceneTimeRange({ from, to, timeZone: 'utc' });

function before(to: string, span: string): string {
  return new Date(Date.parse(to) - rangeUtil.intervalToMs(span)).toISOString();
}

function vizOf(panel: Panel, shown: Shown): VizPanel {
  const runner = new SceneQueryRunner({
    queries: panel.targets ?? [],
    datasource: panel.datasource,
    maxDataPoints: panel.maxDataPoints,
    minInterval: panel.interval,
    dataLayerFilter: { panelId: panel.id },
  });
  return new VizPanel({
    key: `panel-${panel.id}`,
    title: panel.title,
    description: panel.description,
    pluginId: panel.type,
    pluginVersion: panel.pluginVersion,
    options: panel.options,
    fieldConfig: structuredClone(panel.fieldConfig),
    displayMode: panel.transparent ? 'transparent' : undefined,
    hoverHeader: !panel.title,
    $timeRange: panel.timeFrom ? rangeOf(before(shown.to, panel.timeFrom), shown.to) : undefined,
    $data: panel.targets?.length
      ? new SceneDataTransformer({ $data: runner, transformations: panel.transformations ?? [] })
      : undefined,
  } as never);
}

function itemOf(panel: Panel, below: number, shown: Shown): SceneGridItem {
  const { x, y, w, h } = panel.gridPos;
  return new SceneGridItem({
    key: `item-${panel.id}`,
    x,
    y: y + below,
    width: w,
    height: h,
    isDraggable: false,
    isResizable: false,
    body: vizOf(panel, shown),
  });
}

/** Rows hold their panels. An opened row pushes down what is below it. */
function gridOf(panels: Panel[], shown: Shown): Array<SceneGridItem | SceneGridRow> {
  const found: Array<SceneGridItem | SceneGridRow> = [];
  let below = 0;
  for (let index = 0; index < panels.length; index++) {
    const panel = panels[index];
    if (panel.type !== 'row') {
      found.push(itemOf(panel, below, shown));
      continue;
    }
    const inside = [...(panel.panels ?? [])];
    while (!panel.collapsed && index + 1 < panels.length && panels[index + 1].type !== 'row') {
      inside.push(panels[++index]);
    }
    found.push(
      new SceneGridRow({
        key: `row-${panel.id}`,
        title: panel.title,
        y: panel.gridPos.y + below,
        isCollapsed: Boolean(panel.collapsed) && !shown.expanded,
        isCollapsible: true,
        children: inside.map((one) => itemOf(one, below, shown)),
      })
    );
    if (panel.collapsed && shown.expanded) {
      below += Math.max(...inside.map((one) => one.gridPos.y + one.gridPos.h)) - panel.gridPos.y - 1;
    }
  }
  return found;
}

export function sceneOf(dashboard: Dashboard, shown: Shown): EmbeddedScene {
  const marks = (dashboard.annotations?.list ?? []).filter((one) => one.datasource?.type !== 'grafana');
  const layers = marks.map(
    (one) =>
      new dataLayers.AnnotationsDataLayer({
        name: one.name,
        query: one,
        isEnabled: one.enable,
        isHidden: one.hide,
      } as never)
  );
  return new EmbeddedScene({
    $timeRange: rangeOf(shown.from, shown.to),
    $variables: new SceneVariableSet({ variables: dashboard.templating.list.map(variableOf) }),
    $data: new SceneDataLayerSet({ layers }),
    $behaviors: [new behaviors.CursorSync({ key: 'cursor', sync: dashboard.graphTooltip })],
    controls: [
      new VariableValueSelectors({}),
      new SceneControlsSpacer(),
      new SceneTimePicker({ isOnCanvas: true }),
      new SceneRefreshPicker({ refresh: '' }),
    ],
    body: new SceneGridLayout({
      isLazy: false,
      isDraggable: false,
      isResizable: false,
      children: gridOf(dashboard.panels, shown),
    }),
  } as never);
}
