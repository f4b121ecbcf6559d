// Stands in for @grafana/ui/unstable before Grafana 12, whose table panel draws with the table of @grafana/ui.
import { Table } from '@grafana/ui';
import type { ComponentProps, ReactElement } from 'react';

type Given = ComponentProps<typeof Table> & { sortBy?: ComponentProps<typeof Table>['initialSortBy'] };

export const TableNG = ({ sortBy, ...rest }: Given): ReactElement => <Table {...rest} initialSortBy={sortBy} />;
