// What Grafana's server writes into its page. Grafana's modules read it while they load, so this is imported first.
const theme = new URLSearchParams(window.location.search).get('theme') ?? 'dark';

Object.assign(window, {
  __grafana_public_path__: '/public/',
  grafanaBootData: {
    user: {
      timezone: 'utc',
      locale: 'en-US',
      language: 'en-US',
      regionalFormat: 'en-US',
      weekStart: 'monday',
      theme,
      lightTheme: theme === 'light',
      orgRole: 'Viewer',
      permissions: {},
    },
    settings: {
      appUrl: 'http://127.0.0.1:3000/',
      appSubUrl: '',
      buildInfo: { version: '13.2.2', env: 'production', commit: '' },
      featureToggles: {},
      datasources: {},
      defaultDatasource: 'Prometheus',
      panels: {},
      apps: {},
      theme,
      panelSeriesLimit: 0,
      minRefreshInterval: '5s',
      unifiedAlertingEnabled: true,
      liveEnabled: false,
    },
    navTree: [],
  },
});

// Grafana's app gives arrays a method of its former vectors, which its packages before 13 call.
Object.defineProperty(Array.prototype, 'get', {
  configurable: true, // Some define it themselves.
  writable: true,
  value(this: unknown[], index: number) {
    return this[index];
  },
});

export {};
