{#
  (alpha, k)-anonymity: one sensitive value makes up no more than a share alpha of any class (Wong et al.).
#}

{% macro alpha_counts(relation, columns, sensitive, value, alpha) -%}
    {{ return(adapter.dispatch('alpha_counts', 'sqlanon')(relation, columns, sensitive, value, alpha)) }}
{%- endmacro %}

{% macro default__alpha_counts(relation, columns, sensitive, value, alpha) -%}
    {%- set purpose = 'alpha' %}
    {%- set names = sqlanon.names(columns, purpose ~ ' columns') %}
    {%- set limit = sqlanon.fraction(alpha, purpose) %}
    with keyed as (
        {{ sqlanon.keyed_rows(relation, names, {'sensitive_value': sensitive}, purpose) }}
    ),
    classes as (
        select
            count(*) as n,
            sum(case when cast(sensitive_value as {{ dbt.type_string() }}) = {{ sqlanon.text_literal(value) }}
                then 1 else 0 end) as m
        from keyed
        group by {{ sqlanon.class_list(names) }}
    ),
    judged as (
        select n, case when {{ sqlanon.wide('m') }} * {{ limit[1] }} <= {{ sqlanon.wide('n') }} * {{ limit[0] }} then 0 else 1 end as fails
        from classes
    )
    {{ sqlanon.figures() }}
{%- endmacro %}
