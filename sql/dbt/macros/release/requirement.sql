{#
  The requirement of a release, read from the model's and its columns' `meta.sqlanon`.
  Keys are those of sqlanon's release spec. What this package does not audit is refused, never passed over.
#}

{% macro requirement_of(model) %}
    {% set meta = (model.config.meta or {}).get('sqlanon') %}
    {% if not meta %}
        {{ sqlanon.refuse("model '" ~ model.name ~ "' has no requirement: state it in meta.sqlanon") }}
    {% endif %}
    {% set known = [
        'source', 'respondent', 'columns', 'default_role', 'k', 'suppression', 'l_diversity', 't_closeness', 'alpha',
        'p_sensitive', 'search', 'history'
    ] %}
    {% for name in meta if name not in known %}
        {{ sqlanon.refuse("meta.sqlanon of model '" ~ model.name ~ "': this package does not audit '" ~ name ~ "'") }}
    {% endfor %}
    {% set models = [] %}
    {% for name in ['k', 'l_diversity', 't_closeness', 'alpha', 'p_sensitive'] if meta.get(name) is not none %}
        {% do models.append(name) %}
    {% endfor %}
    {% if not models %}
        {{ sqlanon.refuse("meta.sqlanon of model '" ~ model.name ~ "' asks for nothing: state at least k") }}
    {% elif meta.get('respondent') and models != ['k'] %}
        {{ sqlanon.refuse('respondent: this package counts respondents for k alone; ask nothing else of them') }}
    {% elif not meta.get('source') %}
        {{ sqlanon.refuse(
            "meta.sqlanon of model '" ~ model.name ~ "' names no source: nobody could count what the release leaves out"
        ) }}
    {% elif meta.get('default_role') is not none %}
        {% do sqlanon.one_of(meta.default_role, ['identifier', 'insensitive'], 'default_role') %}
    {% endif %}
    {{ return(meta) }}
{% endmacro %}


{#- {column: role} as the model's properties and its own meta state them. -#}
{% macro roles_of(model, meta) %}
    {% set roles = {} %}
    {% for name, stated in (meta.get('columns') or {}).items() %}
        {% do roles.update({name: stated.role}) %}
    {% endfor %}
    {% for name, column in model.columns.items() %}
        {% set stated = (column.config.meta or {}).get('sqlanon') or (column.meta or {}).get('sqlanon') %}
        {% if stated %}
            {% do roles.update({name: stated.role}) %}
        {% endif %}
    {% endfor %}
    {% for name, role in roles.items() %}
        {% do sqlanon.one_of(
            role, ['identifier', 'quasi_identifier', 'sensitive', 'insensitive'], "role of column '" ~ name ~ "'"
        ) %}
    {% endfor %}
    {{ return(roles) }}
{% endmacro %}


{#- The names of the columns that the model made, by role; `unclassified` are those that nobody gave one. -#}
{% macro columns_by_role(columns, roles, default_role) %}
    {% set found = {'identifier': [], 'quasi_identifier': [], 'sensitive': [], 'insensitive': [], 'unclassified': []} %}
    {% for column in columns %}
        {% set role = roles.get(column.name, roles.get(column.name | lower, default_role)) %}
        {% do found[role or 'unclassified'].append(column.name) %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{#- What is wrong with the columns themselves, before anything is measured: the release has those that were declared. -#}
{% macro column_findings(by_role, roles, meta) %}
    {% set findings = [] %}
    {% for name in by_role.unclassified %}
        {% do findings.append("column '" ~ name ~ "' has no role: state one in its meta.sqlanon") %}
    {% endfor %}
    {% if not by_role.quasi_identifier %}
        {% do findings.append('no column has the role quasi_identifier') %}
    {% endif %}
    {% set made = [] %}
    {% for names in by_role.values() %}
        {% do made.extend(names | map('lower')) %}
    {% endfor %}
    {% for name in sqlanon.measured_columns(meta) if name | lower not in made %}
        {% do findings.append("the model has no column '" ~ name ~ "', which its requirement names") %}
    {% endfor %}
    {% for name, role in roles.items() if role != 'identifier' and name | lower not in made %}
        {% do findings.append("the model has no column '" ~ name ~ "', which it declares") %}
    {% endfor %}
    {% if meta.get('default_role') == 'insensitive' %}
        {% set known = roles.keys() | map('lower') | list %}
        {% for column in sqlanon.columns_of(sqlanon.relation_named(meta.source)) %}
            {% do known.append(column.name | lower) %}
        {% endfor %}
        {% for name in by_role.insensitive if name | lower not in known %}
            {% do findings.append("column '" ~ name ~ "' is neither declared nor a column of the source") %}
        {% endfor %}
    {% endif %}
    {{ return(findings) }}
{% endmacro %}


{#- The columns that the requirement names. -#}
{% macro measured_columns(meta) %}
    {% set names = [meta.respondent] if meta.get('respondent') else [] %}
    {% for model in ['l_diversity', 't_closeness', 'alpha', 'p_sensitive'] %}
        {% for entry in meta.get(model) or [] %}
            {% do names.append(entry.column) %}
        {% endfor %}
    {% endfor %}
    {{ return(names) }}
{% endmacro %}


{#- A name, ref(...) as models write it, or source('group', 'name'); the model must depend on it. -#}
{% macro relation_named(text) %}
    {% set quoted = "\\s*['\"]([^'\"]+)['\"]\\s*" %}
    {% set as_source = modules.re.match('source\\(' ~ quoted ~ ',' ~ quoted ~ '\\)$', text) %}
    {% if as_source %}
        {{ return(source(as_source.group(1), as_source.group(2))) }}
    {% endif %}
    {% set version = "(?:,\\s*(?:v|version)\\s*=\\s*['\"]?([^'\")\\s]+)['\"]?\\s*)?" %}
    {% set as_ref = modules.re.match('ref\\((?:' ~ quoted ~ ',)?' ~ quoted ~ version ~ '\\)$', text) %}
    {% if not as_ref %}
        {{ return(ref(text)) }}
    {% elif as_ref.group(1) %}
        {{ return(ref(as_ref.group(1), as_ref.group(2), version=as_ref.group(3))) }}
    {% endif %}
    {{ return(ref(as_ref.group(2), version=as_ref.group(3))) }}
{% endmacro %}
