import { getDisplayValueAlignmentFactors, getFieldDisplayValues, type FieldDisplay } from '@grafana/data';
import { BigValue, useTheme2, VizRepeater, type VizRepeaterRenderValueProps } from '@grafana/ui';
import type { ReactElement } from 'react';
import type { Props } from './parts';

export function Stat(panel: Props): ReactElement {
  const theme = useTheme2();
  const { options, fieldConfig, replaceVariables, timeZone, data } = panel;
  const sparkline = options.graphMode !== 'none';
  const { reduceOptions } = options;
  const source = { fieldConfig, reduceOptions, replaceVariables, theme, sparkline, timeZone, data: data.series };
  const values = getFieldDisplayValues(source as never);
  const tile = (one: VizRepeaterRenderValueProps<FieldDisplay, any>) => (
    <BigValue
      value={one.value.display}
      sparkline={one.value.sparkline}
      count={one.count}
      colorMode={options.colorMode}
      graphMode={options.graphMode}
      justifyMode={options.justifyMode}
      textMode={options.textMode}
      text={options.text}
      disableWideLayout={options.wideLayout === false}
      alignmentFactors={one.alignmentFactors}
      width={one.width}
      height={one.height}
      theme={theme}
    />
  );
  return (
    <VizRepeater
      getValues={() => values}
      getAlignmentFactors={getDisplayValueAlignmentFactors as never}
      renderValue={tile}
      width={panel.width}
      height={panel.height}
      source={data}
      itemSpacing={3}
      renderCounter={panel.renderCounter}
      autoGrid
      orientation={options.orientation}
    />
  );
}
