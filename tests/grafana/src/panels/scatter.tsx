import { FieldType, getFieldDisplayName, type DataFrame, type Field } from '@grafana/data';
import { useTheme2, type VizLegendItem } from '@grafana/ui';
import type { ReactElement } from 'react';
import { FONT, hasData, NoData, textOf, ticks, WithLegend, type Props } from './parts';

const LEFT = 46;
const RIGHT = 8;
const TOP = 6;
const BOTTOM = 36;

interface Series {
  across: Field;
  up: Field;
  name: string;
  acrossName: string;
}

/** As Grafana maps fields by itself: of each frame the first number goes across, the others up. */
function seriesOf(frames: DataFrame[]): Series[] {
  return frames.flatMap((frame) => {
    const [across, ...others] = frame.fields.filter((field) => field.type === FieldType.number);
    return others.map((up) => ({
      across,
      up,
      name: getFieldDisplayName(up, frame, frames),
      acrossName: getFieldDisplayName(across, frame, frames),
    }));
  });
}

const known = (values: unknown[]) => values.filter((value): value is number => Number.isFinite(value));

export function Scatter(panel: Props): ReactElement {
  const theme = useTheme2();
  const series = seriesOf(panel.data.series);
  if (!hasData(panel) || !series.length) {
    return <NoData panel={panel} />;
  }
  const { palette, getColorByName } = theme.visualization;
  const items: VizLegendItem[] = series.map((one, index) => ({
    label: one.name,
    color: getColorByName(palette[index % palette.length]),
    yAxis: 1,
  }));
  const draw = (width: number, height: number) => {
    const xs = ticks(Math.max(...series.flatMap((one) => known(one.across.values))), 6);
    const ys = ticks(Math.max(...series.flatMap((one) => known(one.up.values))));
    const [inner, tall] = [width - LEFT - RIGHT, height - TOP - BOTTOM];
    const x = (value: number) => LEFT + (value / xs[xs.length - 1]) * inner;
    const y = (value: number) => TOP + (1 - value / ys[ys.length - 1]) * tall;
    return (
      <svg width={width} height={height} style={FONT} fill={theme.colors.text.primary}>
        {ys.map((value) => (
          <text key={value} x={LEFT - 6} y={y(value) + 4} textAnchor="end">
            {textOf(series[0].up, theme, value)}
          </text>
        ))}
        {xs.map((value) => (
          <text key={value} x={x(value)} y={TOP + tall + 16} textAnchor="middle">
            {textOf(series[0].across, theme, value)}
          </text>
        ))}
        <text x={LEFT + inner / 2} y={height - 2} textAnchor="middle" fill={theme.colors.text.secondary}>
          {series[0].acrossName}
        </text>
        {series.map((one, index) =>
          one.across.values.map((value, row) =>
            Number.isFinite(value) && Number.isFinite(one.up.values[row]) ? (
              <circle key={`${index}-${row}`} cx={x(value)} cy={y(one.up.values[row])} r={2.5} fill={items[index].color} fillOpacity={0.5} />
            ) : null
          )
        )}
      </svg>
    );
  };
  return <WithLegend panel={panel} items={items} draw={draw} />;
}
