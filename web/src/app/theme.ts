/** Mantine theme: colours, fonts, spacing, headings and default properties of components. */
import { createTheme, type MantineColorsTuple } from '@mantine/core';

import { CATEGORIES } from './palette';

/** Shades of the blue that figures use for their first series. */
const fabric: MantineColorsTuple = [
  '#e6f3fb',
  '#cfe5f4',
  '#9fcbe8',
  '#6bafdc',
  '#4297d1',
  '#2888cb',
  '#0f7cc0',
  CATEGORIES[0],
  '#005f96',
  '#004b78',
];

/** Bluish greys of the dark scheme; the page has the eighth, panels are set in app.css. */
const dark: MantineColorsTuple = [
  '#d5dbe3',
  '#b9c2cc',
  '#98a4b1',
  '#6b7886',
  '#3d4854',
  '#2c343d',
  '#222a32',
  '#161b20',
  '#12161a',
  '#0d1013',
];

export const theme = createTheme({
  colors: { fabric, dark },
  primaryColor: 'fabric',
  primaryShade: 7,
  defaultRadius: 'sm',
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SFMono-Regular', Menlo, Consolas, 'DejaVu Sans Mono', monospace",
  fontSizes: { xs: '11.5px', sm: '12.5px', md: '13.5px', lg: '15px', xl: '18px' },
  spacing: { xs: '6px', sm: '10px', md: '14px', lg: '20px', xl: '28px' },
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '18px', lineHeight: '1.3' },
      h2: { fontSize: '15px', lineHeight: '1.35' },
      h3: { fontSize: '13.5px', lineHeight: '1.4' },
    },
  },
  components: {
    Button: { defaultProps: { size: 'xs' } },
    TextInput: { defaultProps: { size: 'xs' } },
    NumberInput: { defaultProps: { size: 'xs' } },
    Select: { defaultProps: { size: 'xs' } },
    MultiSelect: { defaultProps: { size: 'xs' } },
    TagsInput: { defaultProps: { size: 'xs' } },
    Checkbox: { defaultProps: { size: 'xs' } },
    Switch: { defaultProps: { size: 'xs' } },
    SegmentedControl: { defaultProps: { size: 'xs' } },
    Badge: { defaultProps: { size: 'sm', radius: 'sm', variant: 'light', tt: 'none' } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: true, multiline: true, maw: 380 } },
  },
});
