// SPDX-License-Identifier: Apache-2.0
// Printed by tools/pg_catalog_shapes.py from PostgreSQL 15; do not edit.
#include "pg_catalog_shapes.h"

namespace freshet::adapter {

const std::vector<SystemShape>& pg_catalog_shapes() {
  static const std::vector<SystemShape> kShapes{
      {"information_schema", "administrable_role_authorizations", 13241,
       "grantee name, role_name name, is_grantable varchar"},
      {"information_schema", "applicable_roles", 13236,
       "grantee name, role_name name, is_grantable varchar"},
      {"information_schema", "attributes", 13245,
       "udt_catalog name, udt_schema name, udt_name name, attribute_name name, "
       "ordinal_position int4, attribute_default varchar, is_nullable varchar, "
       "data_type varchar, character_maximum_length int4, character_octet_length int4, "
       "character_set_catalog name, character_set_schema name, character_set_name name, "
       "collation_catalog name, collation_schema name, collation_name name, "
       "numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, "
       "datetime_precision int4, interval_type varchar, interval_precision int4, "
       "attribute_udt_catalog name, attribute_udt_schema name, attribute_udt_name name, "
       "scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, "
       "dtd_identifier name, is_derived_reference_attribute varchar"},
      {"information_schema", "character_sets", 13250,
       "character_set_catalog name, character_set_schema name, character_set_name name, "
       "character_repertoire name, form_of_use name, default_collate_catalog name, "
       "default_collate_schema name, default_collate_name name"},
      {"information_schema", "check_constraint_routine_usage", 13255,
       "constraint_catalog name, constraint_schema name, constraint_name name, "
       "specific_catalog name, specific_schema name, specific_name name"},
      {"information_schema", "check_constraints", 13260,
       "constraint_catalog name, constraint_schema name, constraint_name name, "
       "check_clause varchar"},
      {"information_schema", "collation_character_set_applicability", 13270,
       "collation_catalog name, collation_schema name, collation_name name, "
       "character_set_catalog name, character_set_schema name, character_set_name name"},
      {"information_schema", "collations", 13265,
       "collation_catalog name, collation_schema name, collation_name name, "
       "pad_attribute varchar"},
      {"information_schema", "column_column_usage", 13275,
       "table_catalog name, table_schema name, table_name name, column_name name, "
       "dependent_column name"},
      {"information_schema", "column_domain_usage", 13280,
       "domain_catalog name, domain_schema name, domain_name name, table_catalog name, "
       "table_schema name, table_name name, column_name name"},
      {"information_schema", "column_options", 13503,
       "table_catalog name, table_schema name, table_name name, column_name name, "
       "option_name name, option_value varchar"},
      {"information_schema", "column_privileges", 13285,
       "grantor name, grantee name, table_catalog name, table_schema name, table_name name, "
       "column_name name, privilege_type varchar, is_grantable varchar"},
      {"information_schema", "column_udt_usage", 13290,
       "udt_catalog name, udt_schema name, udt_name name, table_catalog name, "
       "table_schema name, table_name name, column_name name"},
      {"information_schema", "columns", 13295,
       "table_catalog name, table_schema name, table_name name, column_name name, "
       "ordinal_position int4, column_default varchar, is_nullable varchar, "
       "data_type varchar, character_maximum_length int4, character_octet_length int4, "
       "numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, "
       "datetime_precision int4, interval_type varchar, interval_precision int4, "
       "character_set_catalog name, character_set_schema name, character_set_name name, "
       "collation_catalog name, collation_schema name, collation_name name, "
       "domain_catalog name, domain_schema name, domain_name name, udt_catalog name, "
       "udt_schema name, udt_name name, scope_catalog name, scope_schema name, "
       "scope_name name, maximum_cardinality int4, dtd_identifier name, "
       "is_self_referencing varchar, is_identity varchar, identity_generation varchar, "
       "identity_start varchar, identity_increment varchar, identity_maximum varchar, "
       "identity_minimum varchar, identity_cycle varchar, is_generated varchar, "
       "generation_expression varchar, is_updatable varchar"},
      {"information_schema", "constraint_column_usage", 13300,
       "table_catalog name, table_schema name, table_name name, column_name name, "
       "constraint_catalog name, constraint_schema name, constraint_name name"},
      {"information_schema", "constraint_table_usage", 13305,
       "table_catalog name, table_schema name, table_name name, constraint_catalog name, "
       "constraint_schema name, constraint_name name"},
      {"information_schema", "data_type_privileges", 13488,
       "object_catalog name, object_schema name, object_name name, object_type varchar, "
       "dtd_identifier name"},
      {"information_schema", "domain_constraints", 13310,
       "constraint_catalog name, constraint_schema name, constraint_name name, "
       "domain_catalog name, domain_schema name, domain_name name, is_deferrable varchar, "
       "initially_deferred varchar"},
      {"information_schema", "domain_udt_usage", 13315,
       "udt_catalog name, udt_schema name, udt_name name, domain_catalog name, "
       "domain_schema name, domain_name name"},
      {"information_schema", "domains", 13320,
       "domain_catalog name, domain_schema name, domain_name name, data_type varchar, "
       "character_maximum_length int4, character_octet_length int4, "
       "character_set_catalog name, character_set_schema name, character_set_name name, "
       "collation_catalog name, collation_schema name, collation_name name, "
       "numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, "
       "datetime_precision int4, interval_type varchar, interval_precision int4, "
       "domain_default varchar, udt_catalog name, udt_schema name, udt_name name, "
       "scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, "
       "dtd_identifier name"},
      {"information_schema", "element_types", 13493,
       "object_catalog name, object_schema name, object_name name, object_type varchar, "
       "collection_type_identifier name, data_type varchar, character_maximum_length int4, "
       "character_octet_length int4, character_set_catalog name, character_set_schema name, "
       "character_set_name name, collation_catalog name, collation_schema name, "
       "collation_name name, numeric_precision int4, numeric_precision_radix int4, "
       "numeric_scale int4, datetime_precision int4, interval_type varchar, "
       "interval_precision int4, domain_default varchar, udt_catalog name, udt_schema name, "
       "udt_name name, scope_catalog name, scope_schema name, scope_name name, "
       "maximum_cardinality int4, dtd_identifier name"},
      {"information_schema", "enabled_roles", 13325,
       "role_name name"},
      {"information_schema", "foreign_data_wrapper_options", 13511,
       "foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, option_name name, "
       "option_value varchar"},
      {"information_schema", "foreign_data_wrappers", 13515,
       "foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, "
       "authorization_identifier name, library_name varchar, "
       "foreign_data_wrapper_language varchar"},
      {"information_schema", "foreign_server_options", 13524,
       "foreign_server_catalog name, foreign_server_name name, option_name name, "
       "option_value varchar"},
      {"information_schema", "foreign_servers", 13528,
       "foreign_server_catalog name, foreign_server_name name, "
       "foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, "
       "foreign_server_type varchar, foreign_server_version varchar, "
       "authorization_identifier name"},
      {"information_schema", "foreign_table_options", 13537,
       "foreign_table_catalog name, foreign_table_schema name, foreign_table_name name, "
       "option_name name, option_value varchar"},
      {"information_schema", "foreign_tables", 13541,
       "foreign_table_catalog name, foreign_table_schema name, foreign_table_name name, "
       "foreign_server_catalog name, foreign_server_name name"},
      {"information_schema", "information_schema_catalog_name", 13227,
       "catalog_name name"},
      {"information_schema", "key_column_usage", 13329,
       "constraint_catalog name, constraint_schema name, constraint_name name, "
       "table_catalog name, table_schema name, table_name name, column_name name, "
       "ordinal_position int4, position_in_unique_constraint int4"},
      {"information_schema", "parameters", 13334,
       "specific_catalog name, specific_schema name, specific_name name, "
       "ordinal_position int4, parameter_mode varchar, is_result varchar, "
       "as_locator varchar, parameter_name name, data_type varchar, "
       "character_maximum_length int4, character_octet_length int4, "
       "character_set_catalog name, character_set_schema name, character_set_name name, "
       "collation_catalog name, collation_schema name, collation_name name, "
       "numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, "
       "datetime_precision int4, interval_type varchar, interval_precision int4, "
       "udt_catalog name, udt_schema name, udt_name name, scope_catalog name, "
       "scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name, "
       "parameter_default varchar"},
      {"information_schema", "referential_constraints", 13339,
       "constraint_catalog name, constraint_schema name, constraint_name name, "
       "unique_constraint_catalog name, unique_constraint_schema name, "
       "unique_constraint_name name, match_option varchar, update_rule varchar, "
       "delete_rule varchar"},
      {"information_schema", "role_column_grants", 13344,
       "grantor name, grantee name, table_catalog name, table_schema name, table_name name, "
       "column_name name, privilege_type varchar, is_grantable varchar"},
      {"information_schema", "role_routine_grants", 13358,
       "grantor name, grantee name, specific_catalog name, specific_schema name, "
       "specific_name name, routine_catalog name, routine_schema name, routine_name name, "
       "privilege_type varchar, is_grantable varchar"},
      {"information_schema", "role_table_grants", 13421,
       "grantor name, grantee name, table_catalog name, table_schema name, table_name name, "
       "privilege_type varchar, is_grantable varchar, with_hierarchy varchar"},
      {"information_schema", "role_udt_grants", 13450,
       "grantor name, grantee name, udt_catalog name, udt_schema name, udt_name name, "
       "privilege_type varchar, is_grantable varchar"},
      {"information_schema", "role_usage_grants", 13459,
       "grantor name, grantee name, object_catalog name, object_schema name, "
       "object_name name, object_type varchar, privilege_type varchar, is_grantable varchar"},
      {"information_schema", "routine_column_usage", 13348,
       "specific_catalog name, specific_schema name, specific_name name, "
       "routine_catalog name, routine_schema name, routine_name name, table_catalog name, "
       "table_schema name, table_name name, column_name name"},
      {"information_schema", "routine_privileges", 13353,
       "grantor name, grantee name, specific_catalog name, specific_schema name, "
       "specific_name name, routine_catalog name, routine_schema name, routine_name name, "
       "privilege_type varchar, is_grantable varchar"},
      {"information_schema", "routine_routine_usage", 13362,
       "specific_catalog name, specific_schema name, specific_name name, "
       "routine_catalog name, routine_schema name, routine_name name"},
      {"information_schema", "routine_sequence_usage", 13367,
       "specific_catalog name, specific_schema name, specific_name name, "
       "routine_catalog name, routine_schema name, routine_name name, sequence_catalog name, "
       "sequence_schema name, sequence_name name"},
      {"information_schema", "routine_table_usage", 13372,
       "specific_catalog name, specific_schema name, specific_name name, "
       "routine_catalog name, routine_schema name, routine_name name, table_catalog name, "
       "table_schema name, table_name name"},
      {"information_schema", "routines", 13377,
       "specific_catalog name, specific_schema name, specific_name name, "
       "routine_catalog name, routine_schema name, routine_name name, routine_type varchar, "
       "module_catalog name, module_schema name, module_name name, udt_catalog name, "
       "udt_schema name, udt_name name, data_type varchar, character_maximum_length int4, "
       "character_octet_length int4, character_set_catalog name, character_set_schema name, "
       "character_set_name name, collation_catalog name, collation_schema name, "
       "collation_name name, numeric_precision int4, numeric_precision_radix int4, "
       "numeric_scale int4, datetime_precision int4, interval_type varchar, "
       "interval_precision int4, type_udt_catalog name, type_udt_schema name, "
       "type_udt_name name, scope_catalog name, scope_schema name, scope_name name, "
       "maximum_cardinality int4, dtd_identifier name, routine_body varchar, "
       "routine_definition varchar, external_name varchar, external_language varchar, "
       "parameter_style varchar, is_deterministic varchar, sql_data_access varchar, "
       "is_null_call varchar, sql_path varchar, schema_level_routine varchar, "
       "max_dynamic_result_sets int4, is_user_defined_cast varchar, "
       "is_implicitly_invocable varchar, security_type varchar, "
       "to_sql_specific_catalog name, to_sql_specific_schema name, "
       "to_sql_specific_name name, as_locator varchar, created timestamptz, "
       "last_altered timestamptz, new_savepoint_level varchar, is_udt_dependent varchar, "
       "result_cast_from_data_type varchar, result_cast_as_locator varchar, "
       "result_cast_char_max_length int4, result_cast_char_octet_length int4, "
       "result_cast_char_set_catalog name, result_cast_char_set_schema name, "
       "result_cast_char_set_name name, result_cast_collation_catalog name, "
       "result_cast_collation_schema name, result_cast_collation_name name, "
       "result_cast_numeric_precision int4, result_cast_numeric_precision_radix int4, "
       "result_cast_numeric_scale int4, result_cast_datetime_precision int4, "
       "result_cast_interval_type varchar, result_cast_interval_precision int4, "
       "result_cast_type_udt_catalog name, result_cast_type_udt_schema name, "
       "result_cast_type_udt_name name, result_cast_scope_catalog name, "
       "result_cast_scope_schema name, result_cast_scope_name name, "
       "result_cast_maximum_cardinality int4, result_cast_dtd_identifier name"},
      {"information_schema", "schemata", 13382,
       "catalog_name name, schema_name name, schema_owner name, "
       "default_character_set_catalog name, default_character_set_schema name, "
       "default_character_set_name name, sql_path varchar"},
      {"information_schema", "sequences", 13386,
       "sequence_catalog name, sequence_schema name, sequence_name name, data_type varchar, "
       "numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, "
       "start_value varchar, minimum_value varchar, maximum_value varchar, "
       "increment varchar, cycle_option varchar"},
      {"information_schema", "table_constraints", 13411,
       "constraint_catalog name, constraint_schema name, constraint_name name, "
       "table_catalog name, table_schema name, table_name name, constraint_type varchar, "
       "is_deferrable varchar, initially_deferred varchar, enforced varchar, "
       "nulls_distinct varchar"},
      {"information_schema", "table_privileges", 13416,
       "grantor name, grantee name, table_catalog name, table_schema name, table_name name, "
       "privilege_type varchar, is_grantable varchar, with_hierarchy varchar"},
      {"information_schema", "tables", 13425,
       "table_catalog name, table_schema name, table_name name, table_type varchar, "
       "self_referencing_column_name name, reference_generation varchar, "
       "user_defined_type_catalog name, user_defined_type_schema name, "
       "user_defined_type_name name, is_insertable_into varchar, is_typed varchar, "
       "commit_action varchar"},
      {"information_schema", "transforms", 13430,
       "udt_catalog name, udt_schema name, udt_name name, specific_catalog name, "
       "specific_schema name, specific_name name, group_name name, transform_type varchar"},
      {"information_schema", "triggered_update_columns", 13435,
       "trigger_catalog name, trigger_schema name, trigger_name name, "
       "event_object_catalog name, event_object_schema name, event_object_table name, "
       "event_object_column name"},
      {"information_schema", "triggers", 13440,
       "trigger_catalog name, trigger_schema name, trigger_name name, "
       "event_manipulation varchar, event_object_catalog name, event_object_schema name, "
       "event_object_table name, action_order int4, action_condition varchar, "
       "action_statement varchar, action_orientation varchar, action_timing varchar, "
       "action_reference_old_table name, action_reference_new_table name, "
       "action_reference_old_row name, action_reference_new_row name, created timestamptz"},
      {"information_schema", "udt_privileges", 13445,
       "grantor name, grantee name, udt_catalog name, udt_schema name, udt_name name, "
       "privilege_type varchar, is_grantable varchar"},
      {"information_schema", "usage_privileges", 13454,
       "grantor name, grantee name, object_catalog name, object_schema name, "
       "object_name name, object_type varchar, privilege_type varchar, is_grantable varchar"},
      {"information_schema", "user_defined_types", 13463,
       "user_defined_type_catalog name, user_defined_type_schema name, "
       "user_defined_type_name name, user_defined_type_category varchar, "
       "is_instantiable varchar, is_final varchar, ordering_form varchar, "
       "ordering_category varchar, ordering_routine_catalog name, "
       "ordering_routine_schema name, ordering_routine_name name, reference_type varchar, "
       "data_type varchar, character_maximum_length int4, character_octet_length int4, "
       "character_set_catalog name, character_set_schema name, character_set_name name, "
       "collation_catalog name, collation_schema name, collation_name name, "
       "numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, "
       "datetime_precision int4, interval_type varchar, interval_precision int4, "
       "source_dtd_identifier name, ref_dtd_identifier name"},
      {"information_schema", "user_mapping_options", 13550,
       "authorization_identifier name, foreign_server_catalog name, "
       "foreign_server_name name, option_name name, option_value varchar"},
      {"information_schema", "user_mappings", 13555,
       "authorization_identifier name, foreign_server_catalog name, foreign_server_name name"},
      {"information_schema", "view_column_usage", 13468,
       "view_catalog name, view_schema name, view_name name, table_catalog name, "
       "table_schema name, table_name name, column_name name"},
      {"information_schema", "view_routine_usage", 13473,
       "table_catalog name, table_schema name, table_name name, specific_catalog name, "
       "specific_schema name, specific_name name"},
      {"information_schema", "view_table_usage", 13478,
       "view_catalog name, view_schema name, view_name name, table_catalog name, "
       "table_schema name, table_name name"},
      {"information_schema", "views", 13483,
       "table_catalog name, table_schema name, table_name name, view_definition varchar, "
       "check_option varchar, is_updatable varchar, is_insertable_into varchar, "
       "is_trigger_updatable varchar, is_trigger_deletable varchar, "
       "is_trigger_insertable_into varchar"},
      {"pg_catalog", "pg_aggregate", 2600,
       "aggfnoid regproc!, aggkind char!, aggnumdirectargs int2!, aggtransfn regproc!, "
       "aggfinalfn regproc!, aggcombinefn regproc!, aggserialfn regproc!, "
       "aggdeserialfn regproc!, aggmtransfn regproc!, aggminvtransfn regproc!, "
       "aggmfinalfn regproc!, aggfinalextra bool!, aggmfinalextra bool!, "
       "aggfinalmodify char!, aggmfinalmodify char!, aggsortop oid!, aggtranstype oid!, "
       "aggtransspace int4!, aggmtranstype oid!, aggmtransspace int4!, agginitval text, "
       "aggminitval text"},
      {"pg_catalog", "pg_am", 2601,
       "oid oid!, amname name!, amhandler regproc!, amtype char!"},
      {"pg_catalog", "pg_amop", 2602,
       "oid oid!, amopfamily oid!, amoplefttype oid!, amoprighttype oid!, "
       "amopstrategy int2!, amoppurpose char!, amopopr oid!, amopmethod oid!, "
       "amopsortfamily oid!"},
      {"pg_catalog", "pg_amproc", 2603,
       "oid oid!, amprocfamily oid!, amproclefttype oid!, amprocrighttype oid!, "
       "amprocnum int2!, amproc regproc!"},
      {"pg_catalog", "pg_attrdef", 2604,
       "oid oid!, adrelid oid!, adnum int2!, adbin text!"},
      {"pg_catalog", "pg_attribute", 1249,
       "attrelid oid!, attname name!, atttypid oid!, attstattarget int4!, attlen int2!, "
       "attnum int2!, attndims int4!, attcacheoff int4!, atttypmod int4!, attbyval bool!, "
       "attalign char!, attstorage char!, attcompression char!, attnotnull bool!, "
       "atthasdef bool!, atthasmissing bool!, attidentity char!, attgenerated char!, "
       "attisdropped bool!, attislocal bool!, attinhcount int4!, attcollation oid!, "
       "attacl _text, attoptions _text, attfdwoptions _text, attmissingval text"},
      {"pg_catalog", "pg_auth_members", 1261,
       "roleid oid!, member oid!, grantor oid!, admin_option bool!"},
      {"pg_catalog", "pg_authid", 1260,
       "oid oid!, rolname name!, rolsuper bool!, rolinherit bool!, rolcreaterole bool!, "
       "rolcreatedb bool!, rolcanlogin bool!, rolreplication bool!, rolbypassrls bool!, "
       "rolconnlimit int4!, rolpassword text, rolvaliduntil timestamptz"},
      {"pg_catalog", "pg_available_extension_versions", 12085,
       "name name, version text, installed bool, superuser bool, trusted bool, "
       "relocatable bool, schema name, requires _name, comment text"},
      {"pg_catalog", "pg_available_extensions", 12081,
       "name name, default_version text, installed_version text, comment text"},
      {"pg_catalog", "pg_backend_memory_contexts", 12138,
       "name text, ident text, parent text, level int4, total_bytes int8, "
       "total_nblocks int8, free_bytes int8, free_chunks int8, used_bytes int8"},
      {"pg_catalog", "pg_cast", 2605,
       "oid oid!, castsource oid!, casttarget oid!, castfunc oid!, castcontext char!, "
       "castmethod char!"},
      {"pg_catalog", "pg_class", 1259,
       "oid oid!, relname name!, relnamespace oid!, reltype oid!, reloftype oid!, "
       "relowner oid!, relam oid!, relfilenode oid!, reltablespace oid!, relpages int4!, "
       "reltuples float4!, relallvisible int4!, reltoastrelid oid!, relhasindex bool!, "
       "relisshared bool!, relpersistence char!, relkind char!, relnatts int2!, "
       "relchecks int2!, relhasrules bool!, relhastriggers bool!, relhassubclass bool!, "
       "relrowsecurity bool!, relforcerowsecurity bool!, relispopulated bool!, "
       "relreplident char!, relispartition bool!, relrewrite oid!, relfrozenxid text!, "
       "relminmxid text!, relacl _text, reloptions _text, relpartbound text"},
      {"pg_catalog", "pg_collation", 3456,
       "oid oid!, collname name!, collnamespace oid!, collowner oid!, collprovider char!, "
       "collisdeterministic bool!, collencoding int4!, collcollate text, collctype text, "
       "colliculocale text, collversion text"},
      {"pg_catalog", "pg_config", 12130,
       "name text, setting text"},
      {"pg_catalog", "pg_constraint", 2606,
       "oid oid!, conname name!, connamespace oid!, contype char!, condeferrable bool!, "
       "condeferred bool!, convalidated bool!, conrelid oid!, contypid oid!, conindid oid!, "
       "conparentid oid!, confrelid oid!, confupdtype char!, confdeltype char!, "
       "confmatchtype char!, conislocal bool!, coninhcount int4!, connoinherit bool!, "
       "conkey _int2, confkey _int2, conpfeqop _oid, conppeqop _oid, conffeqop _oid, "
       "confdelsetcols _int2, conexclop _oid, conbin text"},
      {"pg_catalog", "pg_conversion", 2607,
       "oid oid!, conname name!, connamespace oid!, conowner oid!, conforencoding int4!, "
       "contoencoding int4!, conproc regproc!, condefault bool!"},
      {"pg_catalog", "pg_cursors", 12077,
       "name text, statement text, is_holdable bool, is_binary bool, is_scrollable bool, "
       "creation_time timestamptz"},
      {"pg_catalog", "pg_database", 1262,
       "oid oid!, datname name!, datdba oid!, encoding int4!, datlocprovider char!, "
       "datistemplate bool!, datallowconn bool!, datconnlimit int4!, datfrozenxid text!, "
       "datminmxid text!, dattablespace oid!, datcollate text!, datctype text!, "
       "daticulocale text, datcollversion text, datacl _text"},
      {"pg_catalog", "pg_db_role_setting", 2964,
       "setdatabase oid!, setrole oid!, setconfig _text"},
      {"pg_catalog", "pg_default_acl", 826,
       "oid oid!, defaclrole oid!, defaclnamespace oid!, defaclobjtype char!, "
       "defaclacl _text!"},
      {"pg_catalog", "pg_depend", 2608,
       "classid oid!, objid oid!, objsubid int4!, refclassid oid!, refobjid oid!, "
       "refobjsubid int4!, deptype char!"},
      {"pg_catalog", "pg_description", 2609,
       "objoid oid!, classoid oid!, objsubid int4!, description text!"},
      {"pg_catalog", "pg_enum", 3501,
       "oid oid!, enumtypid oid!, enumsortorder float4!, enumlabel name!"},
      {"pg_catalog", "pg_event_trigger", 3466,
       "oid oid!, evtname name!, evtevent name!, evtowner oid!, evtfoid oid!, "
       "evtenabled char!, evttags _text"},
      {"pg_catalog", "pg_extension", 3079,
       "oid oid!, extname name!, extowner oid!, extnamespace oid!, extrelocatable bool!, "
       "extversion text!, extconfig _oid, extcondition _text"},
      {"pg_catalog", "pg_file_settings", 12110,
       "sourcefile text, sourceline int4, seqno int4, name text, setting text, applied bool, "
       "error text"},
      {"pg_catalog", "pg_foreign_data_wrapper", 2328,
       "oid oid!, fdwname name!, fdwowner oid!, fdwhandler oid!, fdwvalidator oid!, "
       "fdwacl _text, fdwoptions _text"},
      {"pg_catalog", "pg_foreign_server", 1417,
       "oid oid!, srvname name!, srvowner oid!, srvfdw oid!, srvtype text, srvversion text, "
       "srvacl _text, srvoptions _text"},
      {"pg_catalog", "pg_foreign_table", 3118,
       "ftrelid oid!, ftserver oid!, ftoptions _text"},
      {"pg_catalog", "pg_group", 12010,
       "groname name, grosysid oid, grolist _oid"},
      {"pg_catalog", "pg_hba_file_rules", 12114,
       "line_number int4, type text, database _text, user_name _text, address text, "
       "netmask text, auth_method text, options _text, error text"},
      {"pg_catalog", "pg_ident_file_mappings", 12118,
       "line_number int4, map_name text, sys_name text, pg_username text, error text"},
      {"pg_catalog", "pg_index", 2610,
       "indexrelid oid!, indrelid oid!, indnatts int2!, indnkeyatts int2!, "
       "indisunique bool!, indnullsnotdistinct bool!, indisprimary bool!, "
       "indisexclusion bool!, indimmediate bool!, indisclustered bool!, indisvalid bool!, "
       "indcheckxmin bool!, indisready bool!, indislive bool!, indisreplident bool!, "
       "indkey _int2!, indcollation _oid!, indclass _oid!, indoption _int2!, indexprs text, "
       "indpred text"},
      {"pg_catalog", "pg_indexes", 12043,
       "schemaname name, tablename name, indexname name, tablespace name, indexdef text"},
      {"pg_catalog", "pg_inherits", 2611,
       "inhrelid oid!, inhparent oid!, inhseqno int4!, inhdetachpending bool!"},
      {"pg_catalog", "pg_init_privs", 3394,
       "objoid oid!, classoid oid!, objsubid int4!, privtype char!, initprivs _text!"},
      {"pg_catalog", "pg_language", 2612,
       "oid oid!, lanname name!, lanowner oid!, lanispl bool!, lanpltrusted bool!, "
       "lanplcallfoid oid!, laninline oid!, lanvalidator oid!, lanacl _text"},
      {"pg_catalog", "pg_largeobject", 2613,
       "loid oid!, pageno int4!, data bytea!"},
      {"pg_catalog", "pg_largeobject_metadata", 2995,
       "oid oid!, lomowner oid!, lomacl _text"},
      {"pg_catalog", "pg_locks", 12073,
       "locktype text, database oid, relation oid, page int4, tuple int2, virtualxid text, "
       "transactionid text, classid oid, objid oid, objsubid int2, virtualtransaction text, "
       "pid int4, mode text, granted bool, fastpath bool, waitstart timestamptz"},
      {"pg_catalog", "pg_matviews", 12038,
       "schemaname name, matviewname name, matviewowner name, tablespace name, "
       "hasindexes bool, ispopulated bool, definition text"},
      {"pg_catalog", "pg_namespace", 2615,
       "oid oid!, nspname name!, nspowner oid!, nspacl _text"},
      {"pg_catalog", "pg_opclass", 2616,
       "oid oid!, opcmethod oid!, opcname name!, opcnamespace oid!, opcowner oid!, "
       "opcfamily oid!, opcintype oid!, opcdefault bool!, opckeytype oid!"},
      {"pg_catalog", "pg_operator", 2617,
       "oid oid!, oprname name!, oprnamespace oid!, oprowner oid!, oprkind char!, "
       "oprcanmerge bool!, oprcanhash bool!, oprleft oid!, oprright oid!, oprresult oid!, "
       "oprcom oid!, oprnegate oid!, oprcode regproc!, oprrest regproc!, oprjoin regproc!"},
      {"pg_catalog", "pg_opfamily", 2753,
       "oid oid!, opfmethod oid!, opfname name!, opfnamespace oid!, opfowner oid!"},
      {"pg_catalog", "pg_parameter_acl", 6243,
       "oid oid!, parname text!, paracl _text"},
      {"pg_catalog", "pg_partitioned_table", 3350,
       "partrelid oid!, partstrat char!, partnatts int2!, partdefid oid!, partattrs _int2!, "
       "partclass _oid!, partcollation _oid!, partexprs text"},
      {"pg_catalog", "pg_policies", 12018,
       "schemaname name, tablename name, policyname name, permissive text, roles _name, "
       "cmd text, qual text, with_check text"},
      {"pg_catalog", "pg_policy", 3256,
       "oid oid!, polname name!, polrelid oid!, polcmd char!, polpermissive bool!, "
       "polroles _oid!, polqual text, polwithcheck text"},
      {"pg_catalog", "pg_prepared_statements", 12095,
       "name text, statement text, prepare_time timestamptz, parameter_types _oid, "
       "from_sql bool, generic_plans int8, custom_plans int8"},
      {"pg_catalog", "pg_prepared_xacts", 12090,
       "transaction text, gid text, prepared timestamptz, owner name, database name"},
      {"pg_catalog", "pg_proc", 1255,
       "oid oid!, proname name!, pronamespace oid!, proowner oid!, prolang oid!, "
       "procost float4!, prorows float4!, provariadic oid!, prosupport regproc!, "
       "prokind char!, prosecdef bool!, proleakproof bool!, proisstrict bool!, "
       "proretset bool!, provolatile char!, proparallel char!, pronargs int2!, "
       "pronargdefaults int2!, prorettype oid!, proargtypes _oid!, proallargtypes _oid, "
       "proargmodes _char, proargnames _text, proargdefaults text, protrftypes _oid, "
       "prosrc text!, probin text, prosqlbody text, proconfig _text, proacl _text"},
      {"pg_catalog", "pg_publication", 6104,
       "oid oid!, pubname name!, pubowner oid!, puballtables bool!, pubinsert bool!, "
       "pubupdate bool!, pubdelete bool!, pubtruncate bool!, pubviaroot bool!"},
      {"pg_catalog", "pg_publication_namespace", 6237,
       "oid oid!, pnpubid oid!, pnnspid oid!"},
      {"pg_catalog", "pg_publication_rel", 6106,
       "oid oid!, prpubid oid!, prrelid oid!, prqual text, prattrs _int2"},
      {"pg_catalog", "pg_publication_tables", 12068,
       "pubname name, schemaname name, tablename name, attnames _name, rowfilter text"},
      {"pg_catalog", "pg_range", 3541,
       "rngtypid oid!, rngsubtype oid!, rngmultitypid oid!, rngcollation oid!, "
       "rngsubopc oid!, rngcanonical regproc!, rngsubdiff regproc!"},
      {"pg_catalog", "pg_replication_origin", 6000,
       "roident oid!, roname text!"},
      {"pg_catalog", "pg_replication_origin_status", 12332,
       "local_id oid, external_id text, remote_lsn text, local_lsn text"},
      {"pg_catalog", "pg_replication_slots", 12257,
       "slot_name name, plugin name, slot_type text, datoid oid, database name, "
       "temporary bool, active bool, active_pid int4, xmin text, catalog_xmin text, "
       "restart_lsn text, confirmed_flush_lsn text, wal_status text, safe_wal_size int8, "
       "two_phase bool"},
      {"pg_catalog", "pg_rewrite", 2618,
       "oid oid!, rulename name!, ev_class oid!, ev_type char!, ev_enabled char!, "
       "is_instead bool!, ev_qual text!, ev_action text!"},
      {"pg_catalog", "pg_roles", 12000,
       "rolname name, rolsuper bool, rolinherit bool, rolcreaterole bool, rolcreatedb bool, "
       "rolcanlogin bool, rolreplication bool, rolconnlimit int4, rolpassword text, "
       "rolvaliduntil timestamptz, rolbypassrls bool, rolconfig _text, oid oid"},
      {"pg_catalog", "pg_rules", 12023,
       "schemaname name, tablename name, rulename name, definition text"},
      {"pg_catalog", "pg_seclabel", 3596,
       "objoid oid!, classoid oid!, objsubid int4!, provider text!, label text!"},
      {"pg_catalog", "pg_seclabels", 12099,
       "objoid oid, classoid oid, objsubid int4, objtype text, objnamespace oid, "
       "objname text, provider text, label text"},
      {"pg_catalog", "pg_sequence", 2224,
       "seqrelid oid!, seqtypid oid!, seqstart int8!, seqincrement int8!, seqmax int8!, "
       "seqmin int8!, seqcache int8!, seqcycle bool!"},
      {"pg_catalog", "pg_sequences", 12048,
       "schemaname name, sequencename name, sequenceowner name, data_type regtype, "
       "start_value int8, min_value int8, max_value int8, increment_by int8, cycle bool, "
       "cache_size int8, last_value int8"},
      {"pg_catalog", "pg_settings", 12104,
       "name text, setting text, unit text, category text, short_desc text, extra_desc text, "
       "context text, vartype text, source text, min_val text, max_val text, enumvals _text, "
       "boot_val text, reset_val text, sourcefile text, sourceline int4, "
       "pending_restart bool"},
      {"pg_catalog", "pg_shadow", 12005,
       "usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, "
       "usebypassrls bool, passwd text, valuntil timestamptz, useconfig _text"},
      {"pg_catalog", "pg_shdepend", 1214,
       "dbid oid!, classid oid!, objid oid!, objsubid int4!, refclassid oid!, refobjid oid!, "
       "deptype char!"},
      {"pg_catalog", "pg_shdescription", 2396,
       "objoid oid!, classoid oid!, description text!"},
      {"pg_catalog", "pg_shmem_allocations", 12134,
       "name text, off int8, size int8, allocated_size int8"},
      {"pg_catalog", "pg_shseclabel", 3592,
       "objoid oid!, classoid oid!, provider text!, label text!"},
      {"pg_catalog", "pg_stat_activity", 12222,
       "datid oid, datname name, pid int4, leader_pid int4, usesysid oid, usename name, "
       "application_name text, client_addr text, client_hostname text, client_port int4, "
       "backend_start timestamptz, xact_start timestamptz, query_start timestamptz, "
       "state_change timestamptz, wait_event_type text, wait_event text, state text, "
       "backend_xid text, backend_xmin text, query_id int8, query text, backend_type text"},
      {"pg_catalog", "pg_stat_all_indexes", 12183,
       "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, "
       "idx_scan int8, idx_tup_read int8, idx_tup_fetch int8"},
      {"pg_catalog", "pg_stat_all_tables", 12142,
       "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, "
       "idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, "
       "n_tup_hot_upd int8, n_live_tup int8, n_dead_tup int8, n_mod_since_analyze int8, "
       "n_ins_since_vacuum int8, last_vacuum timestamptz, last_autovacuum timestamptz, "
       "last_analyze timestamptz, last_autoanalyze timestamptz, vacuum_count int8, "
       "autovacuum_count int8, analyze_count int8, autoanalyze_count int8"},
      {"pg_catalog", "pg_stat_database", 12266,
       "datid oid, datname name, numbackends int4, xact_commit int8, xact_rollback int8, "
       "blks_read int8, blks_hit int8, tup_returned int8, tup_fetched int8, "
       "tup_inserted int8, tup_updated int8, tup_deleted int8, conflicts int8, "
       "temp_files int8, temp_bytes int8, deadlocks int8, checksum_failures int8, "
       "checksum_last_failure timestamptz, blk_read_time float8, blk_write_time float8, "
       "session_time float8, active_time float8, idle_in_transaction_time float8, "
       "sessions int8, sessions_abandoned int8, sessions_fatal int8, sessions_killed int8, "
       "stats_reset timestamptz"},
      {"pg_catalog", "pg_stat_database_conflicts", 12271,
       "datid oid, datname name, confl_tablespace int8, confl_lock int8, "
       "confl_snapshot int8, confl_bufferpin int8, confl_deadlock int8"},
      {"pg_catalog", "pg_stat_user_functions", 12275,
       "funcid oid, schemaname name, funcname name, calls int8, total_time float8, "
       "self_time float8"},
      {"pg_catalog", "pg_stat_user_indexes", 12192,
       "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, "
       "idx_scan int8, idx_tup_read int8, idx_tup_fetch int8"},
      {"pg_catalog", "pg_stat_user_tables", 12161,
       "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, "
       "idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, "
       "n_tup_hot_upd int8, n_live_tup int8, n_dead_tup int8, n_mod_since_analyze int8, "
       "n_ins_since_vacuum int8, last_vacuum timestamptz, last_autovacuum timestamptz, "
       "last_analyze timestamptz, last_autoanalyze timestamptz, vacuum_count int8, "
       "autovacuum_count int8, analyze_count int8, autoanalyze_count int8"},
      {"pg_catalog", "pg_statistic", 2619,
       "starelid oid!, staattnum int2!, stainherit bool!, stanullfrac float4!, "
       "stawidth int4!, stadistinct float4!, stakind1 int2!, stakind2 int2!, stakind3 int2!, "
       "stakind4 int2!, stakind5 int2!, staop1 oid!, staop2 oid!, staop3 oid!, staop4 oid!, "
       "staop5 oid!, stacoll1 oid!, stacoll2 oid!, stacoll3 oid!, stacoll4 oid!, "
       "stacoll5 oid!, stanumbers1 _float4, stanumbers2 _float4, stanumbers3 _float4, "
       "stanumbers4 _float4, stanumbers5 _float4, stavalues1 text, stavalues2 text, "
       "stavalues3 text, stavalues4 text, stavalues5 text"},
      {"pg_catalog", "pg_statistic_ext", 3381,
       "oid oid!, stxrelid oid!, stxname name!, stxnamespace oid!, stxowner oid!, "
       "stxstattarget int4!, stxkeys _int2!, stxkind _char!, stxexprs text"},
      {"pg_catalog", "pg_statistic_ext_data", 3429,
       "stxoid oid!, stxdinherit bool!, stxdndistinct text, stxddependencies text, "
       "stxdmcv text, stxdexpr text"},
      {"pg_catalog", "pg_stats", 12053,
       "schemaname name, tablename name, attname name, inherited bool, null_frac float4, "
       "avg_width int4, n_distinct float4, most_common_vals text, most_common_freqs _float4, "
       "histogram_bounds text, correlation float4, most_common_elems text, "
       "most_common_elem_freqs _float4, elem_count_histogram _float4"},
      {"pg_catalog", "pg_stats_ext", 12058,
       "schemaname name, tablename name, statistics_schemaname name, statistics_name name, "
       "statistics_owner name, attnames _name, exprs _text, kinds _char, inherited bool, "
       "n_distinct text, dependencies text, most_common_vals _text, "
       "most_common_val_nulls _bool, most_common_freqs _float8, "
       "most_common_base_freqs _float8"},
      {"pg_catalog", "pg_stats_ext_exprs", 12063,
       "schemaname name, tablename name, statistics_schemaname name, statistics_name name, "
       "statistics_owner name, expr text, inherited bool, null_frac float4, avg_width int4, "
       "n_distinct float4, most_common_vals text, most_common_freqs _float4, "
       "histogram_bounds text, correlation float4, most_common_elems text, "
       "most_common_elem_freqs _float4, elem_count_histogram _float4"},
      {"pg_catalog", "pg_subscription", 6100,
       "oid oid!, subdbid oid!, subskiplsn text!, subname name!, subowner oid!, "
       "subenabled bool!, subbinary bool!, substream bool!, subtwophasestate char!, "
       "subdisableonerr bool!, subconninfo text!, subslotname name, subsynccommit text!, "
       "subpublications _text!"},
      {"pg_catalog", "pg_subscription_rel", 6102,
       "srsubid oid!, srrelid oid!, srsubstate char!, srsublsn text"},
      {"pg_catalog", "pg_tables", 12033,
       "schemaname name, tablename name, tableowner name, tablespace name, hasindexes bool, "
       "hasrules bool, hastriggers bool, rowsecurity bool"},
      {"pg_catalog", "pg_tablespace", 1213,
       "oid oid!, spcname name!, spcowner oid!, spcacl _text, spcoptions _text"},
      {"pg_catalog", "pg_timezone_abbrevs", 12122,
       "abbrev text, utc_offset interval, is_dst bool"},
      {"pg_catalog", "pg_timezone_names", 12126,
       "name text, abbrev text, utc_offset interval, is_dst bool"},
      {"pg_catalog", "pg_transform", 3576,
       "oid oid!, trftype oid!, trflang oid!, trffromsql regproc!, trftosql regproc!"},
      {"pg_catalog", "pg_trigger", 2620,
       "oid oid!, tgrelid oid!, tgparentid oid!, tgname name!, tgfoid oid!, tgtype int2!, "
       "tgenabled char!, tgisinternal bool!, tgconstrrelid oid!, tgconstrindid oid!, "
       "tgconstraint oid!, tgdeferrable bool!, tginitdeferred bool!, tgnargs int2!, "
       "tgattr _int2!, tgargs bytea!, tgqual text, tgoldtable name, tgnewtable name"},
      {"pg_catalog", "pg_ts_config", 3602,
       "oid oid!, cfgname name!, cfgnamespace oid!, cfgowner oid!, cfgparser oid!"},
      {"pg_catalog", "pg_ts_config_map", 3603,
       "mapcfg oid!, maptokentype int4!, mapseqno int4!, mapdict oid!"},
      {"pg_catalog", "pg_ts_dict", 3600,
       "oid oid!, dictname name!, dictnamespace oid!, dictowner oid!, dicttemplate oid!, "
       "dictinitoption text"},
      {"pg_catalog", "pg_ts_parser", 3601,
       "oid oid!, prsname name!, prsnamespace oid!, prsstart regproc!, prstoken regproc!, "
       "prsend regproc!, prsheadline regproc!, prslextype regproc!"},
      {"pg_catalog", "pg_ts_template", 3764,
       "oid oid!, tmplname name!, tmplnamespace oid!, tmplinit regproc!, tmpllexize regproc!"},
      {"pg_catalog", "pg_type", 1247,
       "oid oid!, typname name!, typnamespace oid!, typowner oid!, typlen int2!, "
       "typbyval bool!, typtype char!, typcategory char!, typispreferred bool!, "
       "typisdefined bool!, typdelim char!, typrelid oid!, typsubscript regproc!, "
       "typelem oid!, typarray oid!, typinput regproc!, typoutput regproc!, "
       "typreceive regproc!, typsend regproc!, typmodin regproc!, typmodout regproc!, "
       "typanalyze regproc!, typalign char!, typstorage char!, typnotnull bool!, "
       "typbasetype oid!, typtypmod int4!, typndims int4!, typcollation oid!, "
       "typdefaultbin text, typdefault text, typacl _text"},
      {"pg_catalog", "pg_user", 12014,
       "usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, "
       "usebypassrls bool, passwd text, valuntil timestamptz, useconfig _text"},
      {"pg_catalog", "pg_user_mapping", 1418,
       "oid oid!, umuser oid!, umserver oid!, umoptions _text"},
      {"pg_catalog", "pg_user_mappings", 12327,
       "umid oid, srvid oid, srvname name, umuser oid, usename name, umoptions _text"},
      {"pg_catalog", "pg_views", 12028,
       "schemaname name, viewname name, viewowner name, definition text"},
  };
  return kShapes;
}

}  // namespace freshet::adapter
