import { FieldType, formattedValueToString, getDisplayProcessor, type Field, type GrafanaTheme2 } from '@grafana/data';
import { useTheme2 } from '@grafana/ui';
import type { ReactElement } from 'react';
import { clock, FONT, hasData, NoData, timeTicks, type Props } from './parts';

const LEFT = 60;
const BOTTOM = 20;
const LEGEND = 28;
const LINE = 14;

/** As Grafana: the unit of the cells is the option's, else the field's. */
export function cellDisplay(field: Field, options: Props['options'], theme: GrafanaTheme2) {
  const own = options.cellValues ?? {};
  const config = { ...field.config, unit: own.unit || field.config.unit, decimals: own.decimals ?? field.config.decimals };
  return getDisplayProcessor({ field: { ...field, config }, theme });
}

export function HeatMap(panel: Props): ReactElement {
  const theme = useTheme2();
  if (!hasData(panel)) {
    return <NoData panel={panel} />;
  }
  const { options, width, timeRange } = panel;
  const [from, to] = [timeRange.from.valueOf(), timeRange.to.valueOf()];
  const [times, ...rows] = panel.data.series[0].fields;
  const pace = times.config.interval ?? times.values[1] - times.values[0];
  const most = Math.max(...rows.flatMap((row) => row.values.filter((value) => Number.isFinite(value))));
  const height = panel.height - (options.legend?.show ? LEGEND : 0);
  const each = (height - BOTTOM) / rows.length;
  const labelled = Math.ceil(LINE / each);
  const x = (at: number) => LEFT + ((at - from) / (to - from)) * (width - LEFT - 6);
  const config = { unit: options.yAxis?.unit, decimals: options.yAxis?.decimals };
  const bound = getDisplayProcessor({ field: { type: FieldType.number, config }, theme });
  const colour = theme.visualization.getColorByName(options.color?.fill ?? 'dark-orange');
  const least = options.filterValues?.le ?? 0;

  const cell = (value: number | null, column: number, row: number) =>
    value !== null && value > least ? (
      <rect
        key={column}
        x={x(times.values[column] - pace)}
        y={height - BOTTOM - (row + 1) * each}
        width={Math.max(1, x(times.values[column]) - x(times.values[column] - pace) - 1)}
        height={Math.max(1, each - 1)}
        fill={colour}
        fillOpacity={(value / most) ** (options.color?.exponent ?? 0.5)}
      />
    ) : null;
  return (
    <div>
      <svg width={width} height={height} style={FONT} fill={theme.colors.text.primary}>
        {timeTicks(from, to, width).map((at) => (
          <text key={at} x={x(at)} y={height - 4} textAnchor="middle">
            {clock(at)}
          </text>
        ))}
        {rows.map((row, number) => (
          <g key={row.name}>
            {number % labelled === 0 && (
              <text x={LEFT - 6} y={height - BOTTOM - (number + 0.5) * each + 4} textAnchor="end">
                {Number.isNaN(Number(row.name)) ? row.name : formattedValueToString(bound(Number(row.name)))}
              </text>
            )}
            {row.values.map((value, column) => cell(value, column, number))}
          </g>
        ))}
      </svg>
      {options.legend?.show && (
        <div style={{ paddingLeft: LEFT, fontSize: 11, color: theme.colors.text.secondary }}>
          0 … {formattedValueToString(cellDisplay(rows[0], options, theme)(most))}
        </div>
      )}
    </div>
  );
}
