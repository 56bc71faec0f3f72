//! Macro `#[derive(State)]`: implements the trait `units::State`, which visits all fields of a simulation
//! state, so that fast-forward can compare and advance them.
//!
//! `visit` passes each field, in the order of declaration, to the `visit` of its own type, so that a field
//! whose type is no state does not compile. An enum passes the index of its variant first. Attributes of
//! fields and variants change that:
//!
//! | attribute | the field |
//! |---|---|
//! | `#[state(count)]` | is a number that may change by the same step in each period, and has no effect |
//! | `#[state(left = FLOOR)]` | is a quantity that is consumed and must not fall below `FLOOR` |
//! | `#[state(skip)]` | never changes, or follows from other fields |
//! | `#[state(never)]` | never repeats; also of a variant |
//! | `#[state(only_if = PREDICATE)]` | repeats only if `PREDICATE(&field)`, and is not compared |
//! | `#[state(with = FUNCTION)]` | is visited by `FUNCTION(&mut field, &mut Cycle)` |
//!
//! Attributes of the type, each with the path of a function, are applied in this order:
//!
//! | attribute | effect |
//! |---|---|
//! | `#[state(before = F)]` | `F(&mut self)` completes deferred work before the fields are visited |
//! | `#[state(initial = F)]` | if `F(&self)`, the state is the initial one: nothing else is compared |
//! | `#[state(equal = F)]` | the number `F(&self)` must be equal |
//! | `#[state(after = F)]` | `F(&mut self)` recomputes what follows from other fields, after the visit |

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Data, DataEnum, DeriveInput, Error, Expr, Fields, Ident, Path, Result, Variant};
use syn::{parse_macro_input, parse_quote};

/// Derives `units::State`; see the documentation of the crate.
#[proc_macro_derive(State, attributes(state))]
pub fn derive_state(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    implementation(input).unwrap_or_else(Error::into_compile_error).into()
}

/// The `impl` block of a type.
fn implementation(mut input: DeriveInput) -> Result<TokenStream> {
    let hooks = Hooks::of(&input.attrs)?;
    let fields = match &input.data {
        Data::Struct(data) => {
            let (pattern, visits) = destructure(&data.fields)?;
            quote! { let Self #pattern = self; #visits }
        }
        Data::Enum(data) => visit_variants(data)?,
        Data::Union(data) => return Err(Error::new(data.union_token.span, "a union has no derived state")),
    };
    let body = hooks.around(&fields);
    for parameter in input.generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(::units::State));
    }
    let name = &input.ident;
    let (generics, arguments, conditions) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::units::State for #name #arguments #conditions {
            fn visit(&mut self, cycle: &mut ::units::Cycle) { #body }
        }
    })
}

/// The attributes of a type: functions to call around the visit of its fields.
#[derive(Default)]
struct Hooks {
    before: Option<Path>,
    initial: Option<Path>,
    equal: Option<Path>,
    after: Option<Path>,
}

impl Hooks {
    fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut hooks = Self::default();
        for_each_entry(attributes, |entry| {
            let hook = match entry.path.get_ident().map(Ident::to_string).as_deref() {
                Some("before") => &mut hooks.before,
                Some("initial") => &mut hooks.initial,
                Some("equal") => &mut hooks.equal,
                Some("after") => &mut hooks.after,
                _ => return Err(entry.error("allowed of a type: before, initial, equal, after")),
            };
            match hook.replace(entry.value()?.parse()?) {
                None => Ok(()),
                Some(_) => Err(entry.error("allowed once")),
            }
        })?;
        Ok(hooks)
    }

    /// The calls of these functions around the visit of the fields.
    fn around(&self, fields: &TokenStream) -> TokenStream {
        let before = self.before.iter().map(|function| quote! { #function(self); });
        let initial = self.initial.iter().map(|function| {
            quote! {
                let is_initial = #function(self);
                cycle.same(u64::from(is_initial));
                if is_initial {
                    return;
                }
            }
        });
        let equal = self.equal.iter().map(|function| quote! { cycle.same(u64::from(#function(self))); });
        let after = self.after.iter().map(|function| quote! { #function(self); });
        quote! { #(#before)* #(#initial)* #(#equal)* #fields #(#after)* }
    }
}

/// How a field is visited.
enum Rule {
    /// By the implementation of its type.
    Derived,
    Count,
    Left(Expr),
    Skip,
    Never,
    OnlyIf(Path),
    With(Path),
}

impl Rule {
    fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut rule = Self::Derived;
        for_each_entry(attributes, |entry| {
            if !matches!(rule, Self::Derived) {
                return Err(entry.error("allowed of a field: one attribute"));
            }
            rule = match entry.path.get_ident().map(Ident::to_string).as_deref() {
                Some("count") => Self::Count,
                Some("left") => Self::Left(entry.value()?.parse()?),
                Some("skip") => Self::Skip,
                Some("never") => Self::Never,
                Some("only_if") => Self::OnlyIf(entry.value()?.parse()?),
                Some("with") => Self::With(entry.value()?.parse()?),
                _ => return Err(entry.error("allowed of a field: count, left, skip, never, only_if, with")),
            };
            Ok(())
        })?;
        Ok(rule)
    }

    /// The statement that visits the field, to which `field` is a mutable reference.
    fn visit(&self, field: &Ident) -> TokenStream {
        match self {
            Self::Derived => quote! { ::units::State::visit(#field, cycle); },
            Self::Count => quote! { cycle.count(#field); },
            Self::Left(floor) => quote! { cycle.left(#field, #floor); },
            Self::Skip => quote! { let _ = #field; },
            Self::Never => quote! { let _ = #field; cycle.never_repeats(); },
            Self::OnlyIf(predicate) => quote! { if !#predicate(#field) { cycle.never_repeats(); } },
            Self::With(function) => quote! { #function(#field, cycle); },
        }
    }
}

/// Calls `take` for each entry of the `#[state(...)]` attributes.
fn for_each_entry(
    attributes: &[Attribute],
    mut take: impl FnMut(&ParseNestedMeta) -> Result<()>,
) -> Result<()> {
    let own = attributes.iter().filter(|attribute| attribute.path().is_ident("state"));
    own.into_iter().try_for_each(|attribute| attribute.parse_nested_meta(|entry| take(&entry)))
}

/// The pattern that binds all fields, and the statements that visit them.
fn destructure(fields: &Fields) -> Result<(TokenStream, TokenStream)> {
    let rules = fields.iter().map(|field| Rule::of(&field.attrs)).collect::<Result<Vec<_>>>()?;
    let names: Vec<Ident> = (0..rules.len()).map(|index| format_ident!("field_{index}")).collect();
    let pattern = match fields {
        Fields::Named(named) => {
            let idents = named.named.iter().map(|field| &field.ident);
            quote! { { #(#idents: #names),* } }
        }
        Fields::Unnamed(_) => quote! { ( #(#names),* ) },
        Fields::Unit => quote! {},
    };
    let visits = rules.iter().zip(&names).map(|(rule, name)| rule.visit(name));
    Ok((pattern, quote! { #(#visits)* }))
}

/// A `match` with an arm for each variant.
fn visit_variants(data: &DataEnum) -> Result<TokenStream> {
    let arms = data.variants.iter().zip(0_u64..).map(|(variant, index)| arm(variant, index));
    let arms = arms.collect::<Result<Vec<_>>>()?;
    Ok(quote! { match self { #(#arms)* } })
}

fn arm(variant: &Variant, index: u64) -> Result<TokenStream> {
    let name = &variant.ident;
    match Rule::of(&variant.attrs)? {
        Rule::Derived => {
            let (pattern, visits) = destructure(&variant.fields)?;
            Ok(quote! { Self::#name #pattern => { cycle.same(#index); #visits } })
        }
        Rule::Never => Ok(quote! { Self::#name { .. } => cycle.never_repeats(), }),
        _ => Err(Error::new(Span::call_site(), "allowed of a variant: never")),
    }
}
