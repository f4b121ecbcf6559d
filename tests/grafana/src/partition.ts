// `partitionByValues` is part of Grafana's app, not of its packages. This follows its documentation: a frame for each
// combination of the fields' values, which become labels, and series names that are distinct.
import {
  getFieldDisplayName,
  type DataFrame,
  type DataTransformerInfo,
  type Field,
} from '@grafana/data';
import { map } from 'rxjs/operators';

interface Options {
  fields: string[];
  keepFields?: boolean;
  naming?: { asLabels?: boolean };
}

function groups(frame: DataFrame, keys: Field[]): number[][] {
  const rows = new Map<string, number[]>();
  for (let row = 0; row < frame.length; row++) {
    const key = JSON.stringify(keys.map((field) => field.values[row]));
    rows.set(key, [...(rows.get(key) ?? []), row]);
  }
  return [...rows.values()];
}

function partition(frame: DataFrame, options: Options): DataFrame[] {
  const keys = frame.fields.filter(
    (field) => options.fields.includes(field.name) || options.fields.includes(getFieldDisplayName(field, frame))
  );
  if (keys.length === 0) {
    return [frame];
  }
  return groups(frame, keys).map((rows) => {
    const own = Object.fromEntries(keys.map((key) => [key.name, String(key.values[rows[0]])]));
    const fields = frame.fields
      .filter((field) => options.keepFields || !keys.includes(field))
      .map((field) => {
        const { displayName, displayNameFromDS, ...config } = field.config;
        return {
          ...field,
          name: displayNameFromDS ?? displayName ?? field.name,
          config,
          state: undefined,
          labels: options.naming?.asLabels === false ? field.labels : { ...field.labels, ...own },
          values: rows.map((row) => field.values[row]),
        };
      });
    return { ...frame, length: rows.length, fields };
  });
}

export const partitionByValues: DataTransformerInfo<Options> = {
  id: 'partitionByValues',
  name: 'Partition by values',
  defaultOptions: { fields: [] },
  operator: (options) => (source) =>
    source.pipe(
      map((frames) => {
        const found = frames.slice(0, 1).flatMap((frame) => partition(frame, options));
        for (const frame of found) {
          for (const field of frame.fields) {
            field.config.displayName = getFieldDisplayName(field, frame, found);
          }
        }
        return found;
      })
    ),
};
