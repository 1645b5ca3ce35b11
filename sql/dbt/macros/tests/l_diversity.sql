{% test l_diversity(model, columns, sensitive, l, kind='distinct', c=none) -%}
    {{ config(fail_calc='coalesce(sum(violations), 0)') }}
    {{ adapter.dispatch('test_l_diversity', 'sqlanon')(model, columns, sensitive, l, kind, c) }}
{%- endtest %}

{% macro default__test_l_diversity(model, columns, sensitive, l, kind='distinct', c=none) -%}
    {%- if execute %}
        {{ sqlanon.violations(sqlanon.l_diversity_counts(model, columns, sensitive, l, kind, c)) }}
    {%- endif %}
{%- endmacro %}
