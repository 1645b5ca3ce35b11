{#
  t-closeness: every class distributes a sensitive column nearly as the reference does (Li et al., section 4).
  With m of n rows in the class and q of N rows in the reference, both distances are compared in whole numbers.
#}

{% macro t_closeness_counts(relation, columns, sensitive, t, distance='equal', reference=none, order=none) -%}
    {{ return(adapter.dispatch('t_closeness_counts', 'sqlanon')(
        relation, columns, sensitive, t, distance, reference, order
    )) }}
{%- endmacro %}

{% macro default__t_closeness_counts(relation, columns, sensitive, t, distance='equal', reference=none, order=none) -%}
    {%- set purpose = 't_closeness' %}
    {%- set names = sqlanon.names(columns, purpose ~ ' columns') %}
    {%- set limit = sqlanon.fraction(t, purpose ~ ' t') %}
    {%- if limit[0] > limit[1] %}
        {{ sqlanon.refuse(purpose ~ ' t: a number from 0 to 1 is expected') }}
    {%- endif %}
    {%- do sqlanon.one_of(distance, ['equal', 'ordered'], purpose ~ ' distance') %}
    {%- if order and distance != 'ordered' %}
        {{ sqlanon.refuse(purpose ~ ' order: only distance ordered has an order') }}
    {%- endif %}
    {%- set source = relation if reference is none else reference %}
    with keyed as (
        {{ sqlanon.keyed_rows(relation, names, {'sensitive_value': sensitive}, purpose) }}
    ),
    counted as (
        select {{ sqlanon.class_list(names) }}, sensitive_value, count(*) as m
        from keyed
        group by {{ sqlanon.class_list(names) }}, sensitive_value
    ),
    {{ sqlanon.reference_distribution(source, sensitive, distance, order, purpose) }},
    {%- if distance == 'ordered' %}
    {{ sqlanon.ordered_distances(names, limit) }}
    {{ sqlanon.figures('(select count(*) from uncovered)') }}
    {%- else %}
    {{ sqlanon.equal_distances(names, limit) }}
    {{ sqlanon.figures() }}
    {%- endif %}
{%- endmacro %}


{#- `reference_values`: each value of the reference with its rows `q`, and for distance ordered its place. -#}
{% macro reference_distribution(source, sensitive, distance, order, purpose) -%}
    {%- set columns = sqlanon.columns_of(source) %}
    {%- set key = sqlanon.key_of(columns, sensitive, purpose ~ ' reference') %}
    {%- set is_text = sqlanon.kind_of(sqlanon.find_column(columns, sensitive, purpose)) == 'text' %}
    {%- if distance == 'ordered' and is_text and not order %}
        {{ sqlanon.refuse(purpose ~ " order: the values of text column '" ~ sensitive ~ "' from lowest to highest") }}
    {%- elif order and not is_text %}
        {{ sqlanon.refuse(purpose ~ " order: column '" ~ sensitive ~ "' is no text and has an order of its own") }}
    {%- endif %}
    reference_counts as (
        select {{ key }} as sensitive_value, count(*) as q
        from {{ source }}
        group by {{ key }}
    ),
    {%- if distance == 'ordered' %}
    reference_ranks as (
        select sensitive_value, q, {{ sqlanon.rank_of(order) }} as declared
        from reference_counts
    ),
    {%- endif %}
    reference_values as (
        select
            sensitive_value,
            q,
            sum(q) over () as total
            {%- if distance == 'ordered' %},
            count(*) over () as reference_size,
            row_number() over (order by {{ sqlanon.value_order(order) }}) as place,
            sum(q) over (
                order by {{ sqlanon.value_order(order) }} rows between unbounded preceding and current row
            ) as q_up_to
            {%- endif %}
        from {{ 'reference_ranks' if distance == 'ordered' else 'reference_counts' }}
    )
{%- endmacro %}


{#- The position in the declared order; NULL for a value that is not declared. Without an order nothing needs one. -#}
{% macro rank_of(order) -%}
    {%- if not order %}
        {{ return('0') }}
    {%- endif %}
    {%- set choices = [] %}
    {%- for value in order %}
        {%- do choices.append('when sensitive_value = ' ~ sqlanon.text_literal(value) ~ ' then ' ~ loop.index) %}
    {%- endfor %}
    {{ return('case when sensitive_value is null then 0 ' ~ choices | join(' ') ~ ' end') }}
{%- endmacro %}

{#- NULL comes first. -#}
{% macro value_order(order) -%}
    {{ return('case when sensitive_value is null then 0 else 1 end, ' ~ ('declared' if order else 'sensitive_value')) }}
{%- endmacro %}


{#- Half the sum of |p - q| is the sum of the gains: times n * N it is the sum of m * N - n * q where positive. -#}
{% macro equal_distances(names, limit) -%}
    {%- set classes = sqlanon.class_list(names) %}
    {%- set n_total = sqlanon.wide('n') ~ ' * total' %}
    compared as (
        select
            {{ classes }},
            m,
            sum(m) over (partition by {{ classes }}) as n,
            coalesce(known.q, absent.q, 0) as q,
            (select max(total) from reference_values) as total
        from counted
        {{ sqlanon.matched_values() }}
    ),
    gains as (
        select
            {{ classes }},
            m,
            {{ n_total }} as n_total,
            case when {{ sqlanon.wide('m') }} * total > {{ sqlanon.wide('n') }} * q
                then {{ sqlanon.wide('m') }} * total - {{ sqlanon.wide('n') }} * q
                else 0
            end as gain
        from compared
    ),
    judged as (
        select
            sum(m) as n,
            case when sum(gain) * {{ limit[1] }} <= max(n_total) * {{ limit[0] }} then 0 else 1 end as fails
        from gains
        group by {{ classes }}
    )
{%- endmacro %}


{#-
  The sum of |cumulated p - cumulated q| over all values, divided by one less than the number of values.
  Values that a class lacks stand in it with no rows, so that the sums run over the same values everywhere.
-#}
{% macro ordered_distances(names, limit) -%}
    {%- set classes = sqlanon.class_list(names) %}
    placed as (
        select {{ classes }}, counted.sensitive_value, m, coalesce(known.place, absent.place) as place
        from counted
        {{ sqlanon.matched_values() }}
    ),
    uncovered as (
        select distinct sensitive_value from placed where place is null
        union all
        select sensitive_value from reference_ranks where declared is null
    ),
    filled as (
        select {{ classes }}, place, m from placed where place is not null
        union all
        select {{ classes }}, reference_values.place, 0
        from (select distinct {{ classes }} from counted) as classes
        cross join reference_values
    ),
    cells as (
        select {{ classes }}, place, sum(m) as m
        from filled
        group by {{ classes }}, place
    ),
    running as (
        select
            {{ classes }},
            place,
            m,
            sum(m) over (partition by {{ classes }}) as n,
            sum(m) over (
                partition by {{ classes }} order by place rows between unbounded preceding and current row
            ) as m_up_to
        from cells
    ),
    judged as (
        select
            sum(m) as n,
            case
                when sum(abs({{ sqlanon.wide('m_up_to') }} * total - {{ sqlanon.wide('q_up_to') }} * n)) * {{ limit[1] }}
                    <= max({{ sqlanon.wide('n') }} * total * (reference_size - 1)) * {{ limit[0] }} then 0
                else 1
            end as fails
        from running
        inner join reference_values on running.place = reference_values.place
        group by {{ classes }}
    )
{%- endmacro %}


{#- Equality joins by hash; the one NULL is matched apart. -#}
{% macro matched_values() -%}
        left join reference_values as known on counted.sensitive_value = known.sensitive_value
        left join reference_values as absent on counted.sensitive_value is null and absent.sensitive_value is null
{%- endmacro %}
