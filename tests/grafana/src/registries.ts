// Field options and transformations, which Grafana's app registers when it starts.
import {
  booleanOverrideProcessor,
  dataLinksOverrideProcessor,
  displayNameOverrideProcessor,
  FieldType,
  identityOverrideProcessor,
  numberOverrideProcessor,
  standardEditorsRegistry,
  standardFieldConfigEditorRegistry,
  standardTransformers,
  standardTransformersRegistry,
  stringOverrideProcessor,
  thresholdsOverrideProcessor,
  unitOverrideProcessor,
  valueMappingsOverrideProcessor,
  type Field,
  type FieldConfigPropertyItem,
  type TransformerRegistryItem,
} from '@grafana/data';
import { partitionByValues } from './partition';

const PROCESSORS = {
  actions: identityOverrideProcessor,
  color: identityOverrideProcessor,
  decimals: numberOverrideProcessor,
  description: stringOverrideProcessor,
  displayName: displayNameOverrideProcessor,
  fieldMinMax: booleanOverrideProcessor,
  filterable: booleanOverrideProcessor,
  links: dataLinksOverrideProcessor,
  mappings: valueMappingsOverrideProcessor,
  max: numberOverrideProcessor,
  min: numberOverrideProcessor,
  noValue: displayNameOverrideProcessor,
  thresholds: thresholdsOverrideProcessor,
  unit: unitOverrideProcessor,
};
const OF_NUMBERS = ['min', 'max', 'fieldMinMax', 'decimals'];

function concerns(option: string, field: Field): boolean {
  if (OF_NUMBERS.includes(option)) {
    return field.type === FieldType.number;
  }
  // Unit and noValue concern text, too: a sentence for an empty panel appears in every empty label.
  return option !== 'mappings' || field.type !== FieldType.time;
}

function fieldOptions(): FieldConfigPropertyItem[] {
  return Object.entries(PROCESSORS).map(
    ([id, process]) =>
      ({
        id,
        path: id,
        name: id,
        editor: () => null,
        override: () => null,
        process,
        shouldApply: (field: Field) => concerns(id, field),
        settings: {},
        getItemsCount: () => 0,
      }) as unknown as FieldConfigPropertyItem
  );
}

/** What gives a transformation when it is called, as Grafana 13 does, and is one itself, as before. */
const lazily = (one: object) => Object.defineProperties(() => one, Object.getOwnPropertyDescriptors(one));

function transformers(): TransformerRegistryItem[] {
  const byId = new Map([...Object.values(standardTransformers), partitionByValues].map((one) => [one.id, one]));
  return [...byId.values()].map(
    (one) =>
      ({ id: one.id, name: one.name, transformation: lazily(one), editor: () => null }) as unknown as TransformerRegistryItem
  );
}

export function register(): void {
  standardFieldConfigEditorRegistry.setInit(fieldOptions);
  standardEditorsRegistry.setInit(() => []);
  standardTransformersRegistry.setInit(transformers);
}
