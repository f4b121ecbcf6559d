// Stands in for @grafana/assistant, a package of Grafana Cloud that @grafana/prometheus imports.
const nothing = () => null;
export const useAssistant = () => ({ isAvailable: false, openAssistant: undefined });
export const useInlineAssistant = () => ({});
export const isAssistantAvailable = () => ({ subscribe: () => ({ unsubscribe: () => undefined }) });
export const createAssistantContextItem = () => ({});
export const providePageContext = () => () => undefined;
export const useProvidePageContext = nothing;
export const openAssistant = nothing;
export const OpenAssistantButton = nothing;
export const QueryWithAssistantButton = nothing;
export default {};
