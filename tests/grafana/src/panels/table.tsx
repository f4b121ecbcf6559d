import { cacheFieldDisplayNames } from '@grafana/data';
import { TableNG } from '@grafana/ui/unstable';
import { useMemo, type ReactElement } from 'react';
import { NoData, type Props } from './parts';

export function Table(panel: Props): ReactElement {
  const { data, options } = panel;
  // Grafana's table panel does this, too: without it the heads read "Value #A".
  useMemo(() => cacheFieldDisplayNames(data.series), [data.series]);
  const frame = data.series[options.frameIndex ?? 0] ?? data.series[0];
  if (!frame?.fields.length || !data.series.some((one) => one.length)) {
    return <NoData panel={panel} />;
  }
  return (
    <>
      <TableNG
        data={frame}
        width={panel.width}
        height={panel.height}
        noHeader={!options.showHeader}
        showTypeIcons={options.showTypeIcons}
        resizable
        sortBy={options.sortBy}
        cellHeight={options.cellHeight}
        maxRowHeight={options.maxRowHeight}
        enablePagination={options.enablePagination}
        frozenColumns={options.frozenColumns?.left}
        timeRange={panel.timeRange}
        fieldConfig={panel.fieldConfig}
        structureRev={panel.data.structureRev}
        noValue={panel.fieldConfig.defaults.noValue}
        enableVirtualization={false} // so that every cell can be measured
      />
      {data.series.length > 1 && <div>{data.series.length} frames: Grafana shows one and a list to choose from</div>}
    </>
  );
}
