{% test t_closeness(model, columns, sensitive, t, distance='equal', reference=none, order=none) -%}
    {{ config(fail_calc='coalesce(sum(violations), 0)') }}
    {{ adapter.dispatch('test_t_closeness', 'sqlanon')(model, columns, sensitive, t, distance, reference, order) }}
{%- endtest %}

{% macro default__test_t_closeness(model, columns, sensitive, t, distance='equal', reference=none, order=none) -%}
    {%- if execute %}
        {{ sqlanon.violations(
            sqlanon.t_closeness_counts(model, columns, sensitive, t, distance, reference, order)
        ) }}
    {%- endif %}
{%- endmacro %}
