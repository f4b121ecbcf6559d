// Stands in for @grafana/plugin-compat/datasources: the version that @grafana/scenes names is not published.
import { getDataSourceSrv, type GetDataSourceListFilters } from '@grafana/runtime';
import type { DataSourceRef, ScopedVars } from '@grafana/data';

type Wanted = DataSourceRef | string | null;

export const getDataSourceInstance = async (wanted: Wanted, scoped?: ScopedVars) =>
  getDataSourceSrv().get(wanted, scoped);
export const getDataSourceInstanceSettings = async (wanted: Wanted, scoped?: ScopedVars) =>
  getDataSourceSrv().getInstanceSettings(wanted, scoped);
export const getDataSourceInstanceListItem = getDataSourceInstanceSettings;
export const getDataSourceInstanceList = async (filters?: GetDataSourceListFilters) =>
  getDataSourceSrv().getList(filters);
export const getDefaultDataSourceInstanceListItem = async () => getDataSourceSrv().getInstanceSettings(null);
