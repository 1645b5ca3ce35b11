{#
  Arguments as people write them in YAML, checked before they become SQL.
  Thresholds become fractions of whole numbers: nothing is compared in floating point that can be compared exactly.
#}

{% macro refuse(message) %}
    {{ exceptions.raise_compiler_error('sqlanon: ' ~ message) }}
{% endmacro %}


{#- One name or a list of names, at least one. -#}
{% macro names(value, purpose) %}
    {% set given = [value] if value is string else (value or []) | list %}
    {% if not given %}
        {{ sqlanon.refuse(purpose ~ ': name at least one column') }}
    {% endif %}
    {{ return(given) }}
{% endmacro %}


{% macro whole_number(value, least, purpose) %}
    {% set text = value | string %}
    {% if not modules.re.match('[0-9]{1,18}$', text) or text | int < least %}
        {{ sqlanon.refuse(purpose ~ ': a whole number of at least ' ~ least ~ ' is expected') }}
    {% endif %}
    {{ return(text | int) }}
{% endmacro %}


{#- 0.25 as [25, 100]; also written as text. -#}
{% macro fraction(value, purpose) %}
    {% set text = value | string %}
    {% if not modules.re.match('[0-9]{1,9}([.][0-9]{1,9})?$', text) %}
        {{ sqlanon.refuse(purpose ~ ': a plain decimal number such as 0.25 is expected, with at most 9 decimals') }}
    {% endif %}
    {% set parts = text.split('.') %}
    {% set decimals = parts[1] if parts | length > 1 else '' %}
    {{ return([(parts[0] ~ decimals) | int, 10 ** (decimals | length)]) }}
{% endmacro %}


{% macro one_of(value, choices, purpose) %}
    {% if value not in choices %}
        {{ sqlanon.refuse(purpose ~ ': one of ' ~ choices | join(', ') ~ ' is expected') }}
    {% endif %}
    {{ return(value) }}
{% endmacro %}


{% macro text_literal(value) %}
    {{ return(dbt.string_literal(dbt.escape_single_quotes(value | string))) }}
{% endmacro %}


{#- Products of three counts leave 64 bits from about a million rows on. -#}
{% macro wide(expression) %}
    {{ return(adapter.dispatch('wide', 'sqlanon')(expression)) }}
{% endmacro %}

{% macro default__wide(expression) %}
    {{ return('cast(' ~ expression ~ ' as decimal(38, 0))') }}
{% endmacro %}

{% macro duckdb__wide(expression) %}
    {{ return('cast(' ~ expression ~ ' as hugeint)') }}
{% endmacro %}

{% macro postgres__wide(expression) %}
    {{ return('cast(' ~ expression ~ ' as numeric)') }}
{% endmacro %}


{#- A float of 64 bits; what an adapter calls float may have 32. -#}
{% macro double(expression) %}
    {{ return(adapter.dispatch('double', 'sqlanon')(expression)) }}
{% endmacro %}

{% macro default__double(expression) %}
    {{ return('cast(' ~ expression ~ ' as double precision)') }}
{% endmacro %}
