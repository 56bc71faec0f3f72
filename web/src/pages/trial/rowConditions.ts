/** Parses and formats filters of table rows: `src_rank=3, fct_ps>1000000` for users, `src_rank:eq:3` for the server. */
const OPERATORS: Record<string, string> = {
  '=': 'eq',
  '!=': 'ne',
  '<': 'lt',
  '<=': 'le',
  '>': 'gt',
  '>=': 'ge',
  '~': 'contains',
};

const CONDITION = /^\s*([a-z0-9_]+)\s*(<=|>=|!=|=|<|>|~)\s*([^<>=!~]+?)\s*$/;

/** Complete conditions in a text: column, comparison and value. */
export function conditions(text: string): string[] {
  return text.split(',').flatMap((part) => {
    const [, column, sign, value] = CONDITION.exec(part) ?? [];
    const operator = OPERATORS[sign ?? ''];
    return column !== undefined && operator !== undefined && value !== undefined
      ? [`${column}:${operator}:${value}`]
      : [];
  });
}

/** Condition of the server in the notation of users. */
export function conditionText(condition: string): string {
  const [column = '', operator = '', ...value] = condition.split(':');
  const sign = Object.entries(OPERATORS).find(([, name]) => name === operator)?.[0] ?? operator;
  return `${column}${sign}${value.join(':')}`;
}
