{#
  Columns of a relation, and the keys by which their values are equal.
  Classes are grouped by keys: NULL equals NULL, text compares byte by byte whatever its collation, -0.0 is 0.0.
#}

{% macro columns_of(relation) %}
    {{ return(adapter.dispatch('columns_of', 'sqlanon')(relation)) }}
{% endmacro %}

{#- A test with a `where` is given a query and no relation. -#}
{% macro default__columns_of(relation) %}
    {% if relation is string %}
        {{ return(get_column_schema_from_query('select * from ' ~ relation)) }}
    {% endif %}
    {{ return(adapter.get_columns_in_relation(relation)) }}
{% endmacro %}


{#- The column as the relation spells it. Names mean what they say; only where none fits, case is overlooked. -#}
{% macro find_column(columns, name, purpose) %}
    {% for column in columns if column.name == name %}
        {{ return(column) }}
    {% endfor %}
    {% set alike = [] %}
    {% for column in columns if column.name | lower == name | lower %}
        {% do alike.append(column) %}
    {% endfor %}
    {% if alike | length != 1 %}
        {{ sqlanon.refuse(purpose ~ ": the table has no column '" ~ name ~ "'") }}
    {% endif %}
    {{ return(alike[0]) }}
{% endmacro %}


{#- `sensitive` or a class column of the audited relation: its key, read from no alias. -#}
{% macro key_of(columns, name, purpose) %}
    {{ return(sqlanon.key(sqlanon.find_column(columns, name, purpose))) }}
{% endmacro %}


{% macro key(column) %}
    {{ return(adapter.dispatch('key', 'sqlanon')(column)) }}
{% endmacro %}

{% macro default__key(column) %}
    {{ return(adapter.quote(column.name)) }}
{% endmacro %}

{% macro duckdb__key(column) %}
    {{ return(sqlanon.bytewise_key(column)) }}
{% endmacro %}

{% macro postgres__key(column) %}
    {{ return(sqlanon.bytewise_key(column)) }}
{% endmacro %}

{#- Enumerations, char(n) and citext take no collation or compare by rules of their own: the cast comes first. -#}
{% macro bytewise_key(column) %}
    {% set kind = sqlanon.kind_of(column) %}
    {% set name = adapter.quote(column.name) %}
    {% if kind == 'exact' %}
        {{ return(name) }}
    {% elif kind == 'float' %}
        {{ return('(' ~ name ~ ' + cast(0 as real))') }}
    {% endif %}
    {{ return('cast(' ~ name ~ ' as text) collate "C"') }}
{% endmacro %}


{#- float, exact (numbers, dates, times, booleans), or text: all that is neither. -#}
{% macro kind_of(column) %}
    {% set type = column.dtype.lower().split('(')[0].strip() %}
    {% if type in ['float', 'float4', 'float8', 'real', 'double', 'double precision'] %}
        {{ return('float') }}
    {% endif %}
    {% set numbers = [
        'tinyint', 'smallint', 'integer', 'int', 'bigint', 'hugeint', 'longinteger', 'utinyint', 'usmallint',
        'uinteger', 'ubigint', 'uhugeint', 'int2', 'int4', 'int8', 'numeric', 'decimal', 'number'
    ] %}
    {% set moments = ['date', 'time', 'datetime', 'datetimetz', 'datetimezone'] %}
    {% set is_moment = type in moments or type.startswith('timestamp') or type.startswith('time ') %}
    {% if type in numbers or type in ['boolean', 'bool'] or is_moment %}
        {{ return('exact') }}
    {% endif %}
    {{ return('text') }}
{% endmacro %}
