import { FieldType } from '@grafana/data';
import { TimeSeries } from '@grafana/ui';
import type { ReactElement } from 'react';
import { NoData, type Props } from './parts';

export function TimeSeriesPanel(panel: Props): ReactElement {
  const has = (kind: FieldType) => (field: { type: FieldType }) => field.type === kind;
  const frames = panel.data.series.filter(
    (frame) => frame.length && frame.fields.some(has(FieldType.time)) && frame.fields.some(has(FieldType.number))
  );
  if (frames.length === 0) {
    return <NoData panel={panel} />;
  }
  return (
    <TimeSeries
      frames={frames}
      structureRev={panel.data.structureRev}
      width={panel.width}
      height={panel.height}
      timeRange={panel.timeRange}
      timeZone={panel.timeZone}
      legend={panel.options.legend}
      options={panel.options}
    />
  );
}
