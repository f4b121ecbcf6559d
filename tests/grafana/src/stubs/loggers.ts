// Stands in for @grafana/runtime/unstable before Grafana 13, which registers no loggers.
export const initializeLoggersRegistry = () => undefined;
