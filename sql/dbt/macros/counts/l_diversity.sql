{#
  l-diversity: every class has l well-represented values of a sensitive column. NULL is a value like any other.
  Machanavajjhala et al., definitions 4.1 (entropy) and 4.2 (recursive).
#}

{% macro l_diversity_counts(relation, columns, sensitive, l, kind='distinct', c=none) -%}
    {{ return(adapter.dispatch('l_diversity_counts', 'sqlanon')(relation, columns, sensitive, l, kind, c)) }}
{%- endmacro %}

{% macro default__l_diversity_counts(relation, columns, sensitive, l, kind='distinct', c=none) -%}
    {%- set purpose = 'l_diversity' %}
    {%- set names = sqlanon.names(columns, purpose ~ ' columns') %}
    {%- set least = sqlanon.whole_number(l, 1, purpose ~ ' l') %}
    {%- do sqlanon.one_of(kind, ['distinct', 'entropy', 'recursive'], purpose ~ ' kind') %}
    {%- if (kind == 'recursive') != (c is not none) %}
        {{ sqlanon.refuse(purpose ~ ': c belongs to kind recursive, which needs it') }}
    {%- endif %}
    {%- set classes = sqlanon.class_list(names) %}
    with keyed as (
        {{ sqlanon.keyed_rows(relation, names, {'sensitive_value': sensitive}, purpose) }}
    ),
    counted as (
        select {{ classes }}, count(*) as m
        from keyed
        group by {{ classes }}, sensitive_value
    ),
    placed as (
        select {{ classes }}, m, row_number() over (partition by {{ classes }} order by m desc) as place
        from counted
    ),
    classes as (
        select
            sum(m) as n,
            count(*) as distinct_values,
            max(m) as most,
            min(m) as fewest,
            sum(case when place >= {{ least }} then m else 0 end) as tail,
            sum(m * ln({{ sqlanon.double('m') }})) as m_ln_m
        from placed
        group by {{ classes }}
    ),
    judged as (
        select n, case when {{ sqlanon.is_diverse(least, kind, c) }} then 0 else 1 end as fails
        from classes
    )
    {{ sqlanon.figures() }}
{%- endmacro %}


{% macro is_diverse(l, kind, c) -%}
    {%- if kind == 'distinct' %}
        {{ return('distinct_values >= ' ~ l) }}
    {%- elif kind == 'recursive' %}
        {%- set limit = sqlanon.fraction(c, 'l_diversity c') %}
        {{ return(sqlanon.wide('most') ~ ' * ' ~ limit[1] ~ ' < ' ~ sqlanon.wide('tail') ~ ' * ' ~ limit[0]) }}
    {%- endif %}
    {{ return(sqlanon.is_entropy_diverse(l)) }}
{%- endmacro %}


{#-
  As many values as l reach ln(l) only if all are equally frequent. Logarithms decide only beyond that, and a tie that
  rounding hides still passes.
-#}
{% macro is_entropy_diverse(l) -%}
    {%- set n = sqlanon.double('n') %}
    {%- set ln_l = 'ln(' ~ sqlanon.double(l) ~ ')' %}
    {%- set gap = n ~ ' * ln(' ~ n ~ ') - m_ln_m - ' ~ n ~ ' * ' ~ ln_l %}
    {%- set equal = 'distinct_values = ' ~ l ~ ' and fewest = most' %}
    {%- set beyond = 'distinct_values > ' ~ l ~ ' and ' ~ gap ~ ' >= -1e-13 * ' ~ n ~ ' * ln(' ~ n ~ ')' %}
    {{ return('(' ~ equal ~ ') or (' ~ beyond ~ ')') }}
{%- endmacro %}
