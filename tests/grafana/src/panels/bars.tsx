import { FieldType, getFieldSeriesColor, type Field } from '@grafana/data';
import { measureText, useTheme2 } from '@grafana/ui';
import type { ReactElement } from 'react';
import { drawnNumbers, FONT, hasData, legendItems, NoData, textOf, ticks, WithLegend, type Props } from './parts';

const AXIS = 46;
const RIGHT = 8;
const TOP = 14;
const BOTTOM = 22;

const hasAxis = (field: Field) => field.config.custom?.axisPlacement !== 'hidden';

export function Bars(panel: Props): ReactElement {
  const theme = useTheme2();
  if (!hasData(panel)) {
    return <NoData panel={panel} />;
  }
  const [frame] = panel.data.series;
  const across = frame.fields.find((field) => field.type === FieldType.string || field.type === FieldType.time);
  const bars = drawnNumbers(frame);
  if (!across || !bars.length) {
    return <div>{across ? 'No numeric fields found' : 'Bar charts require a string or time field'}</div>;
  }
  const most = Math.max(...bars.flatMap((field) => field.values.filter((value) => Number.isFinite(value))));
  const scale = ticks(most);
  const top = scale[scale.length - 1];

  const draw = (width: number, height: number) => {
    const left = hasAxis(bars[0]) ? AXIS : RIGHT;
    const [inner, tall] = [width - left - RIGHT, height - TOP - BOTTOM];
    const group = (inner / frame.length) * (panel.options.groupWidth ?? 0.7);
    const wide = (group / bars.length) * (panel.options.barWidth ?? 0.97);
    const middle = (row: number) => left + (inner * (row + 0.5)) / frame.length;
    const y = (value: number) => TOP + tall * (1 - value / top);
    const bar = (row: number, number: number) => {
      const value: number | null = bars[number].values[row];
      if (value === null || Number.isNaN(value)) {
        return null;
      }
      const from = middle(row) - group / 2 + ((number + 0.5) * group) / bars.length - wide / 2;
      const { color } = getFieldSeriesColor(bars[number], theme);
      const said = textOf(bars[number], theme, value);
      const { showValue } = panel.options;
      const fits = showValue === 'always' || (showValue !== 'never' && measureText(said, 10).width <= group / bars.length);
      return (
        <g key={`${row}-${number}`}>
          <rect x={from} y={y(value)} width={wide} height={tall - y(value) + TOP} fill={color} fillOpacity={0.8} />
          {fits && (
            <text x={from + wide / 2} y={y(value) - 4} textAnchor="middle" fill={theme.colors.text.primary} fontSize={10}>
              {said}
            </text>
          )}
        </g>
      );
    };
    return (
      <svg width={width} height={height} style={FONT} fill={theme.colors.text.primary}>
        {hasAxis(bars[0]) &&
          scale.map((value) => (
            <text key={value} x={left - 6} y={y(value) + 4} textAnchor="end">
              {textOf(bars[0], theme, value)}
            </text>
          ))}
        {Array.from({ length: frame.length }, (_, row) => (
          <g key={row}>
            {hasAxis(across) && (
              <text x={middle(row)} y={height - 6} textAnchor="middle">
                {textOf(across, theme, across.values[row])}
              </text>
            )}
            {bars.map((_, number) => bar(row, number))}
          </g>
        ))}
      </svg>
    );
  };
  return <WithLegend panel={panel} items={legendItems([frame], theme)} draw={draw} />;
}
