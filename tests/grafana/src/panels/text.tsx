import { renderMarkdown } from '@grafana/data';
import type { ReactElement } from 'react';
import type { Props } from './parts';

export function Text({ options }: Props): ReactElement {
  const html = options.mode === 'markdown' ? renderMarkdown(options.content) : options.content;
  return <div className="markdown-html" dangerouslySetInnerHTML={{ __html: html }} />;
}
