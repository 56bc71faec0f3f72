//! Macros that declare a table and the list of all tables: row type, columns and metadata from one list.

/// Declares a table: its name, where its rows are observed ([`crate::Point`]), the type of its rows and, each
/// with its meaning as comment, its columns.
///
/// - `name: Type ["unit"];` is a field of the rows, and a column with its values.
/// - `name: Type as Other ["unit"] = |row, names| ...;` is a field, and a column with other values, such as
///   the name behind an index.
/// - `name: Type ["unit"] = |row| ...;` is a column that follows from fields.
/// - `name: Type as ();` is a field, and no column.
macro_rules! table {
    ($(#[$about:meta])* $name:literal at $point:ident: $row:ident { $($entries:tt)* }) => {
        $crate::declare::table! { @next [$(#[$about])* $name $point $row] [] [] $($entries)* }
    };
    (@next $table:tt [$($fields:tt)*] $columns:tt
        $(#[doc = $meaning:literal])+ $field:ident: $type:ty as (); $($rest:tt)*
    ) => {
        $crate::declare::table! {
            @next $table [$($fields)* $(#[doc = $meaning])+ pub $field: $type,] $columns $($rest)*
        }
    };
    (@next $table:tt [$($fields:tt)*] [$($columns:tt)*]
        $(#[doc = $meaning:literal])+ $field:ident: $type:ty $([$unit:literal])?; $($rest:tt)*
    ) => {
        $crate::declare::table! {
            @next $table
            [$($fields)* $(#[doc = $meaning])+ pub $field: $type,]
            [$($columns)* { $($meaning)+, $field: $type, $($unit)?, |row| &row.$field }]
            $($rest)*
        }
    };
    (@next $table:tt [$($fields:tt)*] [$($columns:tt)*]
        $(#[doc = $meaning:literal])+ $field:ident: $type:ty as $other:ty $([$unit:literal])?
            = |$each:ident $(, $names:ident)?| $value:expr; $($rest:tt)*
    ) => {
        $crate::declare::table! {
            @next $table
            [$($fields)* $(#[doc = $meaning])+ pub $field: $type,]
            [$($columns)* { $($meaning)+, $field: $other, $($unit)?, |$each $(, $names)?| $value }]
            $($rest)*
        }
    };
    (@next $table:tt $fields:tt [$($columns:tt)*]
        $(#[doc = $meaning:literal])+ $column:ident: $type:ty $([$unit:literal])?
            = |$each:ident $(, $names:ident)?| $value:expr; $($rest:tt)*
    ) => {
        $crate::declare::table! {
            @next $table $fields
            [$($columns)* { $($meaning)+, $column: $type, $($unit)?, |$each $(, $names)?| $value }]
            $($rest)*
        }
    };
    (@next [$(#[$about:meta])* $name:literal $point:ident $row:ident] [$($fields:tt)*] [$({
        $($meaning:literal)+, $column:ident: $type:ty, $($unit:literal)?,
        |$each:ident $(, $names:ident)?| $value:expr
    })*]) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub struct $row {
            $($fields)*
        }

        impl $row {
            /// The table of these rows.
            pub const TABLE: $crate::Table = $crate::Table {
                name: $name,
                point: $crate::Point::$point,
                columns: &[$($crate::Column {
                    name: stringify!($column),
                    kind: <$type as $crate::column::Cell>::KIND,
                    is_nullable: <$type as $crate::column::Cell>::IS_NULLABLE,
                    unit: $crate::declare::table!(@unit $($unit)?),
                    meaning: concat!($($meaning),+).trim_ascii(),
                }),*],
            };
        }

        #[cfg(feature = "arrow")]
        impl $crate::arrow::Rows for $row {
            #[allow(unused_variables, reason = "not every table has names")]
            fn append(rows: &[Self], columns: &mut [$crate::arrow::Values], names: &$crate::Names) {
                let mut columns = columns.iter_mut();
                $(if let Some(column) = columns.next() {
                    let cells = rows.iter().map(|$each| {
                        $(let $names = names;)?
                        $value
                    });
                    <$type as $crate::arrow::Cells>::append(cells, column);
                })*
            }
        }
    };
    (@unit) => { None };
    (@unit $unit:literal) => { Some($unit) };
}

/// Declares the tables of a record: a variant of `Batch` for the rows of each, in the order of `TABLES`.
macro_rules! tables {
    ($($(#[$about:meta])* $variant:ident($row:ty),)+) => {
        /// Every table that a run fills, in the order of the documentation.
        pub const TABLES: &[$crate::Table] = &[$(<$row>::TABLE),+];

        /// Rows of one table.
        #[derive(Clone, Debug)]
        pub enum Batch {
            $($(#[$about])* $variant(Vec<$row>),)+
        }

        #[cfg(feature = "arrow")]
        impl Batch {
            /// The table that the rows belong to.
            #[must_use]
            pub const fn table(&self) -> $crate::Table {
                match self {
                    $(Self::$variant(_) => <$row>::TABLE,)+
                }
            }

            /// Number of rows.
            #[must_use]
            pub const fn len(&self) -> usize {
                match self {
                    $(Self::$variant(rows) => rows.len(),)+
                }
            }

            /// Whether there is no row.
            #[must_use]
            pub const fn is_empty(&self) -> bool {
                self.len() == 0
            }

            pub(crate) fn append_to(
                &self,
                columns: &mut [$crate::arrow::Values],
                range: std::ops::Range<usize>,
                names: &$crate::Names,
            ) {
                match self {
                    $(Self::$variant(rows) => $crate::arrow::Rows::append(&rows[range], columns, names),)+
                }
            }
        }
    };
}

pub(crate) use {table, tables};
