// SPDX-License-Identifier: Apache-2.0
/// The SQLSTATEs that Freshet raises, named as in PostgreSQL's errcodes table.
#pragma once
#include <freshet/base/result.h>

namespace freshet::base::sqlstate {

inline constexpr SqlState kSuccessfulCompletion = "00000";
inline constexpr SqlState kWarning = "01000";
inline constexpr SqlState kConnectionFailure = "08006";
inline constexpr SqlState kProtocolViolation = "08P01";
inline constexpr SqlState kFeatureNotSupported = "0A000";
inline constexpr SqlState kCardinalityViolation = "21000";
inline constexpr SqlState kDataException = "22000";
inline constexpr SqlState kStringDataRightTruncation = "22001";
inline constexpr SqlState kNumericValueOutOfRange = "22003";
inline constexpr SqlState kInvalidDatetimeFormat = "22007";
inline constexpr SqlState kDatetimeFieldOverflow = "22008";
inline constexpr SqlState kSubstringError = "22011";
inline constexpr SqlState kDivisionByZero = "22012";
inline constexpr SqlState kIntervalFieldOverflow = "22015";
inline constexpr SqlState kInvalidArgumentForLog = "2201E";
inline constexpr SqlState kInvalidArgumentForPower = "2201F";
inline constexpr SqlState kInvalidRegularExpression = "2201B";
inline constexpr SqlState kInvalidRowCountInLimit = "2201W";
inline constexpr SqlState kInvalidRowCountInOffset = "2201X";
inline constexpr SqlState kCharacterNotInRepertoire = "22021";
inline constexpr SqlState kInvalidParameterValue = "22023";
inline constexpr SqlState kInvalidEscapeSequence = "22025";
inline constexpr SqlState kArraySubscriptError = "2202E";
inline constexpr SqlState kInvalidTextRepresentation = "22P02";
inline constexpr SqlState kInvalidBinaryRepresentation = "22P03";
inline constexpr SqlState kBadCopyFileFormat = "22P04";
inline constexpr SqlState kNotNullViolation = "23502";
inline constexpr SqlState kUniqueViolation = "23505";
inline constexpr SqlState kInvalidCursorState = "24000";
inline constexpr SqlState kActiveSqlTransaction = "25001";
inline constexpr SqlState kReadOnlySqlTransaction = "25006";
inline constexpr SqlState kNoActiveSqlTransaction = "25P01";
inline constexpr SqlState kInFailedSqlTransaction = "25P02";
inline constexpr SqlState kInvalidSqlStatementName = "26000";
inline constexpr SqlState kInvalidPassword = "28P01";
inline constexpr SqlState kDependentObjectsStillExist = "2BP01";
inline constexpr SqlState kInvalidCursorName = "34000";
inline constexpr SqlState kInvalidCatalogName = "3D000";
inline constexpr SqlState kInvalidSchemaName = "3F000";
inline constexpr SqlState kSerializationFailure = "40001";
inline constexpr SqlState kSyntaxError = "42601";
inline constexpr SqlState kInvalidColumnReference = "42P10";
inline constexpr SqlState kGroupingError = "42803";
inline constexpr SqlState kWindowingError = "42P20";
inline constexpr SqlState kInvalidRecursion = "42P19";
inline constexpr SqlState kDatatypeMismatch = "42804";
inline constexpr SqlState kWrongObjectType = "42809";
inline constexpr SqlState kCannotCoerce = "42846";
inline constexpr SqlState kUndefinedColumn = "42703";
inline constexpr SqlState kUndefinedFunction = "42883";
inline constexpr SqlState kUndefinedTable = "42P01";
inline constexpr SqlState kUndefinedParameter = "42P02";
inline constexpr SqlState kUndefinedObject = "42704";
inline constexpr SqlState kDuplicateColumn = "42701";
inline constexpr SqlState kDuplicateCursor = "42P03";
inline constexpr SqlState kDuplicateDatabase = "42P04";
inline constexpr SqlState kDuplicatePreparedStatement = "42P05";
inline constexpr SqlState kDuplicateSchema = "42P06";
inline constexpr SqlState kDuplicateTable = "42P07";
inline constexpr SqlState kDuplicateAlias = "42712";
inline constexpr SqlState kDuplicateObject = "42710";
inline constexpr SqlState kAmbiguousColumn = "42702";
inline constexpr SqlState kAmbiguousFunction = "42725";
inline constexpr SqlState kAmbiguousParameter = "42P08";
inline constexpr SqlState kInvalidTableDefinition = "42P16";
inline constexpr SqlState kIndeterminateDatatype = "42P18";
inline constexpr SqlState kDiskFull = "53100";
inline constexpr SqlState kOutOfMemory = "53200";
inline constexpr SqlState kTooManyConnections = "53300";
inline constexpr SqlState kProgramLimitExceeded = "54000";
inline constexpr SqlState kStatementTooComplex = "54001";
inline constexpr SqlState kTooManyColumns = "54011";
inline constexpr SqlState kObjectNotInPrerequisiteState = "55000";
inline constexpr SqlState kObjectInUse = "55006";
inline constexpr SqlState kQueryCanceled = "57014";
inline constexpr SqlState kAdminShutdown = "57P01";
inline constexpr SqlState kIoError = "58030";
inline constexpr SqlState kInternalError = "XX000";
inline constexpr SqlState kDataCorrupted = "XX001";

}  // namespace freshet::base::sqlstate

namespace freshet {
namespace sqlstate = base::sqlstate;
}  // namespace freshet
