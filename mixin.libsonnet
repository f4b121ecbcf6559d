// Made by `draftboard build`: edit the generator or your settings, not this file.
//
// The dashboards, recording rules and alerts of Draftboard as a mixin. `_config` has the names of the settings file.
// A setting that is not there changes more than texts: run `draftboard build` with it, and use the mixin it writes.

local units = { w: 604800, d: 86400, h: 3600, m: 60, s: 1 };
// A duration such as '1h30m' in seconds.
local seconds(text) =
  local wrong = "'" + text + "' is no duration such as '1h30m'";
  local read(sofar, char) =
    if std.member('0123456789', char) then sofar { digits+: char }
    else if sofar.digits == '' || !std.objectHas(units, char) then error wrong
    else { digits: '', total: sofar.total + std.parseInt(sofar.digits) * units[char] };
  local found = std.foldl(read, std.stringChars(text), { digits: '', total: 0 });
  if text == '' || found.digits != '' then error wrong else found.total;
// The same as text.
local span(seconds) =
  local parts = [
    { unit: 'd', count: std.floor(seconds / units.d) },
    { unit: 'h', count: std.floor(seconds % units.d / units.h) },
    { unit: 'm', count: std.floor(seconds % units.h / units.m) },
    { unit: 's', count: seconds % units.m },
  ];
  if seconds == 0 then '0s' else std.join('', [part.count + part.unit for part in parts if part.count > 0]);
local inSeconds(table) =
  std.mapWithKey(function(_, value) if std.isString(value) then seconds(value) else value, table);
// The shortest text of a number.
local number(value) =
  local short = '%.15g' % value;
  if std.parseJson(short) == value then short else std.toString(value);
local inJson(text) =
  local quoted = std.escapeStringJson(text);
  std.substr(quoted, 1, std.length(quoted) - 2);

{
  local defaults = {
    selector: "",
    rules: {
      scrape_interval: "15s",
      evaluation_interval: "1m",
      compare_with: "1h",
      baseline: "1d",
      baseline_needs: 0.25,
      baseline_steps: "3d",
      remember: "1h",
      startup: "30m",
      window: span(std.max((rules.scrape_interval * 4), 300)),
      down_after: span(std.max(std.floor((rules.scrape_interval * 5) / 2), 150)),
    },
    thresholds: {
      pays_clearly: 1.1,
      drop: 0.8,
      anomaly: 3,
      usual: 2,
      deviation_floor: 0.05,
      unfit: 0.05,
      first_position: 0.7,
      gain: 0.02,
      full_drafts: 0.9,
      outlier: 0.75,
      inconsistent: 0.05,
      lens_coverage: 0.9,
      class_share: 0.05,
      slower: 0.95,
      tail: 1.5,
      slow_steps: 1.5,
      load: 0.2,
      kv_cache: 0.9,
      preemptions: 0.1,
      late_first_token: 10,
      queue_growth: 1,
      queue_wait: 30,
      errors: 0.05,
      chance: 3,
      unfinished: 0.2,
      refused: 0.9,
      rejections: 0.01,
      interruptions: 2,
      answered: 0.95,
      servers_down: 0.25,
      cut_off: 0.5,
      disk_left: 0.05,
      disk_low: 0.4,
      new_series: 500,
      acceptance: {
        fair: 0.4,
        healthy: 0.6,
        optimal: 0.7,
        suspicious: 0.98,
      },
    },
    traffic: {
      drafts_to_judge: 200,
      drafts_at_depth: 20,
      draft_tokens_to_judge_fit: 2000,
      steps_to_judge: 200,
      evaluations_to_compare: 60,
      tokens_per_second: 1,
      requests_per_second: 0.05,
      errors_to_judge: 5,
      requests_unanswered: 3,
      requests_to_judge: 10,
      requests_to_compare: 15,
    },
    dashboards: {
      refresh: "1m",
      time_range: "6h",
    },
    links: {
      grafana: null,
      runbooks: "https://github.com/draftboard/draftboard/blob/main/alerts/runbooks",
    },
  },
  _config+:: defaults,

  local unknown = [
    name + '.' + key
    for name in std.objectFields(defaults)
    if std.isObject(defaults[name])
    for key in std.objectFields($._config[name])
    if !std.objectHas(defaults[name], key)
  ] + [name for name in std.objectFields($._config) if std.member(["alerts", "all_alerts", "buckets", "cost", "draft_cost", "labels", "managed", "max_draft_tokens", "methods", "planning", "runbooks", "series", "severities", "slo", "stack"], name)],
  assert std.length(unknown) == 0 : 'not in _config: ' + std.join(', ', unknown) + '; run `draftboard build` with it',

  local selector = $._config.selector,
  local rules = inSeconds($._config.rules),
  local dashboards = inSeconds($._config.dashboards),
  local thresholds = $._config.thresholds,
  local traffic = $._config.traffic,
  local links = $._config.links,

  // What stands for each placeholder, as JSON has it.
  local values = {
    'links.grafana': if links.grafana == null then '' else inJson(links.grafana),
    'links.runbooks': inJson(links.runbooks),
    '((rules.compare_with / rules.window) / 2)': number(((rules.compare_with / rules.window) / 2)),
    '((thresholds.chance * thresholds.chance) / (thresholds.errors * 0.25))': number(((thresholds.chance * thresholds.chance) / (thresholds.errors * 0.25))),
    '((thresholds.drop + 1) / 2)': number(((thresholds.drop + 1) / 2)),
    '(1 + thresholds.gain)': number((1 + thresholds.gain)),
    '(1 + thresholds.load)': number((1 + thresholds.load)),
    '(1 - thresholds.gain)': number((1 - thresholds.gain)),
    '(1 - thresholds.inconsistent)': number((1 - thresholds.inconsistent)),
    '(1 - thresholds.load)': number((1 - thresholds.load)),
    '(1 / (1 - thresholds.load))': number((1 / (1 - thresholds.load))),
    '(1.25 * -thresholds.anomaly)': number((1.25 * -thresholds.anomaly)),
    '(1.25 * thresholds.interruptions)': number((1.25 * thresholds.interruptions)),
    '(1.25 * thresholds.new_series)': number((1.25 * thresholds.new_series)),
    '(1.25 * thresholds.preemptions)': number((1.25 * thresholds.preemptions)),
    '(1.25 * thresholds.queue_growth)': number((1.25 * thresholds.queue_growth)),
    '(1.25 * thresholds.queue_wait)': number((1.25 * thresholds.queue_wait)),
    '(1.25 * thresholds.slow_steps)': number((1.25 * thresholds.slow_steps)),
    '(1.25 * thresholds.tail)': number((1.25 * thresholds.tail)),
    '(rules.window * 2)': number((rules.window * 2)),
    '(thresholds.errors / 2)': number((thresholds.errors / 2)),
    '(traffic.errors_to_judge * 12)': number((traffic.errors_to_judge * 12)),
    '-((rules.compare_with / rules.window) / 2)': number(-((rules.compare_with / rules.window) / 2)),
    '-thresholds.anomaly': number(-thresholds.anomaly),
    '-thresholds.usual': number(-thresholds.usual),
    'rules.down_after': number(rules.down_after),
    'rules.evaluation_interval': number(rules.evaluation_interval),
    'rules.window': number(rules.window),
    'span:(rules.compare_with * 2)': span((rules.compare_with * 2)),
    'span:(rules.evaluation_interval * 2)': span((rules.evaluation_interval * 2)),
    'span:(rules.evaluation_interval * 3)': span((rules.evaluation_interval * 3)),
    'span:(rules.window * 2)': span((rules.window * 2)),
    'span:(rules.window * 24)': span((rules.window * 24)),
    'span:(rules.window * 3)': span((rules.window * 3)),
    'span:(rules.window * 4)': span((rules.window * 4)),
    'span:(rules.window + rules.evaluation_interval)': span((rules.window + rules.evaluation_interval)),
    'span:(std.min(rules.remember, std.floor(dashboards.time_range / 2)) + 21600)': span((std.min(rules.remember, std.floor(dashboards.time_range / 2)) + 21600)),
    'span:(std.min(rules.remember, std.floor(dashboards.time_range / 2)) + 900)': span((std.min(rules.remember, std.floor(dashboards.time_range / 2)) + 900)),
    'span:dashboards.refresh': span(dashboards.refresh),
    'span:dashboards.time_range': span(dashboards.time_range),
    'span:rules.baseline': span(rules.baseline),
    'span:rules.baseline_steps': span(rules.baseline_steps),
    'span:rules.compare_with': span(rules.compare_with),
    'span:rules.down_after': span(rules.down_after),
    'span:rules.evaluation_interval': span(rules.evaluation_interval),
    'span:rules.remember': span(rules.remember),
    'span:rules.startup': span(rules.startup),
    'span:rules.window': span(rules.window),
    'span:std.max(rules.evaluation_interval, 240)': span(std.max(rules.evaluation_interval, 240)),
    'span:std.max(rules.evaluation_interval, rules.scrape_interval)': span(std.max(rules.evaluation_interval, rules.scrape_interval)),
    'span:std.min(rules.remember, std.floor(dashboards.time_range / 2))': span(std.min(rules.remember, std.floor(dashboards.time_range / 2))),
    'std.ceil(((((rules.baseline_needs * rules.baseline) / rules.evaluation_interval) * rules.evaluation_interval) / rules.window))': number(std.ceil(((((rules.baseline_needs * rules.baseline) / rules.evaluation_interval) * rules.evaluation_interval) / rules.window))),
    'std.ceil(((traffic.evaluations_to_compare * rules.evaluation_interval) / rules.window))': number(std.ceil(((traffic.evaluations_to_compare * rules.evaluation_interval) / rules.window))),
    'std.max((1.25 * std.max(1.0, thresholds.pays_clearly)), 1)': number(std.max((1.25 * std.max(1.0, thresholds.pays_clearly)), 1)),
    'std.max((1.25 * std.max(thresholds.slower, thresholds.pays_clearly)), 1)': number(std.max((1.25 * std.max(thresholds.slower, thresholds.pays_clearly)), 1)),
    'std.max((1.25 * thresholds.pays_clearly), 1)': number(std.max((1.25 * thresholds.pays_clearly), 1)),
    'std.max(std.floor((rules.scrape_interval * 3) / 2), 90)': number(std.max(std.floor((rules.scrape_interval * 3) / 2), 90)),
    'std.min((1.25 * thresholds.errors), 1)': number(std.min((1.25 * thresholds.errors), 1)),
    'std.min((1.25 * thresholds.inconsistent), 1)': number(std.min((1.25 * thresholds.inconsistent), 1)),
    'std.min((1.25 * thresholds.kv_cache), 1)': number(std.min((1.25 * thresholds.kv_cache), 1)),
    'std.min((1.25 * thresholds.rejections), 1)': number(std.min((1.25 * thresholds.rejections), 1)),
    'std.min((1.25 * thresholds.servers_down), 1)': number(std.min((1.25 * thresholds.servers_down), 1)),
    'std.min((1.25 * thresholds.unfinished), 1)': number(std.min((1.25 * thresholds.unfinished), 1)),
    'thresholds.acceptance.fair': number(thresholds.acceptance.fair),
    'thresholds.acceptance.healthy': number(thresholds.acceptance.healthy),
    'thresholds.acceptance.optimal': number(thresholds.acceptance.optimal),
    'thresholds.acceptance.suspicious': number(thresholds.acceptance.suspicious),
    'thresholds.answered': number(thresholds.answered),
    'thresholds.chance': number(thresholds.chance),
    'thresholds.class_share': number(thresholds.class_share),
    'thresholds.cut_off': number(thresholds.cut_off),
    'thresholds.deviation_floor': number(thresholds.deviation_floor),
    'thresholds.disk_left': number(thresholds.disk_left),
    'thresholds.disk_low': number(thresholds.disk_low),
    'thresholds.drop': number(thresholds.drop),
    'thresholds.errors': number(thresholds.errors),
    'thresholds.first_position': number(thresholds.first_position),
    'thresholds.full_drafts': number(thresholds.full_drafts),
    'thresholds.inconsistent': number(thresholds.inconsistent),
    'thresholds.interruptions': number(thresholds.interruptions),
    'thresholds.kv_cache': number(thresholds.kv_cache),
    'thresholds.late_first_token': number(thresholds.late_first_token),
    'thresholds.lens_coverage': number(thresholds.lens_coverage),
    'thresholds.load': number(thresholds.load),
    'thresholds.new_series': number(thresholds.new_series),
    'thresholds.outlier': number(thresholds.outlier),
    'thresholds.pays_clearly': number(thresholds.pays_clearly),
    'thresholds.preemptions': number(thresholds.preemptions),
    'thresholds.queue_growth': number(thresholds.queue_growth),
    'thresholds.queue_wait': number(thresholds.queue_wait),
    'thresholds.refused': number(thresholds.refused),
    'thresholds.rejections': number(thresholds.rejections),
    'thresholds.servers_down': number(thresholds.servers_down),
    'thresholds.slow_steps': number(thresholds.slow_steps),
    'thresholds.slower': number(thresholds.slower),
    'thresholds.tail': number(thresholds.tail),
    'thresholds.unfinished': number(thresholds.unfinished),
    'thresholds.unfit': number(thresholds.unfit),
    'traffic.draft_tokens_to_judge_fit': number(traffic.draft_tokens_to_judge_fit),
    'traffic.drafts_at_depth': number(traffic.drafts_at_depth),
    'traffic.drafts_to_judge': number(traffic.drafts_to_judge),
    'traffic.errors_to_judge': number(traffic.errors_to_judge),
    'traffic.requests_per_second': number(traffic.requests_per_second),
    'traffic.requests_to_compare': number(traffic.requests_to_compare),
    'traffic.requests_to_judge': number(traffic.requests_to_judge),
    'traffic.requests_unanswered': number(traffic.requests_unanswered),
    'traffic.steps_to_judge': number(traffic.steps_to_judge),
    'traffic.tokens_per_second': number(traffic.tokens_per_second),
  },
  // A selector stands before other matchers or alone; = marks a number that is no part of a text.
  local replaced(text, placeholder) =
    local found = '⟦' + placeholder + '⟧';
    if placeholder == 'selector' then
      local braces = if selector == '' then ['{', ''] else ['{' + inJson(selector) + ', ', '{' + inJson(selector) + '}'];
      std.strReplace(std.strReplace(text, '{' + found + ', ', braces[0]), '{' + found + '}', braces[1])
    else if std.startsWith(placeholder, '=') then
      std.strReplace(text, '"' + found + '"', values[std.lstripChars(placeholder, '=')])
    else
      std.strReplace(text, found, values[placeholder]),
  local filled(text) =
    local placeholders = std.set([std.split(part, '⟧')[0] for part in std.split(text, '⟦')[1:]]);
    std.parseJson(std.foldl(replaced, placeholders, text)),
  local linked(rule) = if 'record' in rule then rule else rule {
    annotations: {
      [name]: rule.annotations[name]
      for name in std.objectFields(rule.annotations)
      if links.grafana != null || name != 'dashboard_url'
    },
  },

  grafanaDashboards+:: {
    'draftboard-overview.json': filled(importstr 'mixin/dashboards/draftboard-overview.json'),
    'draftboard-compare.json': filled(importstr 'mixin/dashboards/draftboard-compare.json'),
    'draftboard-fleet.json': filled(importstr 'mixin/dashboards/draftboard-fleet.json'),
    'draftboard-status.json': filled(importstr 'mixin/dashboards/draftboard-status.json'),
    'draftboard-depth.json': filled(importstr 'mixin/dashboards/draftboard-depth.json'),
    'draftboard-latency.json': filled(importstr 'mixin/dashboards/draftboard-latency.json'),
    'draftboard-capacity.json': filled(importstr 'mixin/dashboards/draftboard-capacity.json'),
  },
  prometheusRules+:: {
    groups+: filled(importstr 'mixin/recording.json').groups,
  },
  prometheusAlerts+:: {
    groups+: [
      group { rules: std.map(linked, group.rules) }
      for group in filled(importstr 'mixin/alerting.json').groups
    ],
  },
}
