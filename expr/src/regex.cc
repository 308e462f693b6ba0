// SPDX-License-Identifier: Apache-2.0
#include "regex.h"

#include <re2/re2.h>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/utf8.h>

namespace freshet::expr {
namespace {

// What RE2 calls a fault, in PostgreSQL's words.
std::string_view reason(RE2::ErrorCode code) {
  switch (code) {
    case RE2::ErrorBadEscape: return "invalid escape \\ sequence";
    case RE2::ErrorBadCharClass: return "invalid character class";
    case RE2::ErrorBadCharRange: return "invalid character range";
    case RE2::ErrorMissingBracket: return "brackets [] not balanced";
    case RE2::ErrorMissingParen:
    case RE2::ErrorUnexpectedParen: return "parentheses () not balanced";
    case RE2::ErrorTrailingBackslash: return "invalid escape \\ sequence";
    case RE2::ErrorRepeatArgument: return "quantifier operand invalid";
    case RE2::ErrorRepeatSize: return "invalid repetition count(s)";
    case RE2::ErrorRepeatOp: return "quantifier operand invalid";
    case RE2::ErrorPatternTooLarge: return "regular expression is too complex";
    default: return "invalid regexp (reg version 0.8)";
  }
}

base::Unexpected unsupported(std::string_view what) {
  return fail(sqlstate::kFeatureNotSupported,
              "regular expressions with " + std::string(what) + " are not supported");
}

struct Translated {
  std::string pattern;
  bool lazy = false;  // has a non-greedy quantifier
};

// Classes count letters and digits of all alphabets; RE2's own know ASCII only.
std::string_view named_class(std::string_view name) {
  if (name == "[:alpha:]") return "\\p{L}";
  if (name == "[:digit:]") return "\\p{Nd}";
  if (name == "[:alnum:]") return "\\p{L}\\p{N}";
  if (name == "[:upper:]") return "\\p{Lu}";
  if (name == "[:lower:]") return "\\p{Ll}";
  return name;
}

void append_escape(std::string& out, char c, bool in_bracket) {
  switch (c) {
    case 'w': out += in_bracket ? "\\p{L}\\p{N}_" : "[\\p{L}\\p{N}_]"; break;
    case 'W': out += "[^\\p{L}\\p{N}_]"; break;
    case 'd': out += "\\p{Nd}"; break;
    case 'D': out += "\\P{Nd}"; break;
    case 'm':
    case 'M':
    case 'y': out += "\\b"; break;
    case 'Y': out += "\\B"; break;
    case 'Z': out += "\\z"; break;
    default: (out += '\\') += c;
  }
}

// Rewrites the escapes and brackets that RE2 spells otherwise; `expanded`: without blanks and comments.
Result<Translated> translate(std::string_view in, bool expanded) {
  Translated out;
  bool in_bracket = false;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const char c = in[i];
    if (c == '\\' && i + 1 < in.size()) {
      const char next = in[++i];
      if (!in_bracket && next >= '1' && next <= '9') return unsupported("back references");
      append_escape(out.pattern, next, in_bracket);
      continue;
    }
    if (in_bracket) {
      if (c == '[' && i + 1 < in.size() && in[i + 1] == ':') {  // [:alpha:]
        const std::size_t end = in.find(":]", i + 2);
        if (end != std::string_view::npos) {
          out.pattern += named_class(in.substr(i, end + 2 - i));
          i = end + 1;
          continue;
        }
      }
      if (c == ']') in_bracket = false;
      if (c == '[') out.pattern += '\\';
      out.pattern += c;
      continue;
    }
    if (expanded && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) continue;
    if (expanded && c == '#') {
      while (i + 1 < in.size() && in[i + 1] != '\n') ++i;
      continue;
    }
    if (c == '[') {
      in_bracket = true;
      out.pattern += c;
      if (i + 1 < in.size() && in[i + 1] == '^') out.pattern += in[++i];
      if (i + 1 < in.size() && in[i + 1] == ']') {  // a bracket that comes first is plain
        out.pattern += "\\]";
        ++i;
      }
      continue;
    }
    if (c == '(' && i + 2 < in.size() && in[i + 1] == '?' && (in[i + 2] == '=' || in[i + 2] == '!' || in[i + 2] == '<')) {
      return unsupported("look-around");
    }
    if (c == '?' && i > 0 && (in[i - 1] == '*' || in[i - 1] == '+' || in[i - 1] == '?' || in[i - 1] == '}')) {
      out.lazy = true;
    }
    out.pattern += c;
  }
  return out;
}

}  // namespace

struct Regex::Body {
  Body(const std::string& pattern, const RE2::Options& options) : re(pattern, options) {}
  RE2 re;
};

Result<Regex> Regex::compile(std::string_view pattern, std::string_view flags) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_dot_nl(true);
  bool lines = false;
  bool expanded = false;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const char flag = flags[i];
    switch (flag) {
      case 'i': options.set_case_sensitive(false); break;
      case 'c': options.set_case_sensitive(true); break;
      case 'n':
      case 'm': lines = true, options.set_dot_nl(false); break;
      case 'w': lines = true; break;
      case 'p': options.set_dot_nl(false); break;
      case 's': lines = false, options.set_dot_nl(true); break;
      case 'x': expanded = true; break;
      case 'e':
      case 't': break;
      case 'q': options.set_literal(true); break;
      default:
        return fail(sqlstate::kInvalidParameterValue,
                    "invalid regular expression option: \"" +
                        std::string(repr::utf8::prefix(flags.substr(i), 1)) + "\"");
    }
  }
  Translated translated{std::string(pattern)};
  if (!options.literal()) translated = FRESHET_TRY(translate(pattern, expanded));
  options.set_longest_match(!translated.lazy);
  auto body = std::make_shared<const Body>((lines ? "(?m)" : "") + translated.pattern, options);
  if (!body->re.ok()) {
    return fail(sqlstate::kInvalidRegularExpression,
                "invalid regular expression: " + std::string(reason(body->re.error_code())));
  }
  return Regex(std::move(body));
}

bool Regex::matches(std::string_view text) const {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), body_->re);
}

int Regex::groups() const { return body_->re.NumberOfCapturingGroups(); }

bool Regex::find(std::string_view text, std::size_t from, Match& match) const {
  const int count = groups() + 1;
  std::vector<re2::StringPiece> found(static_cast<std::size_t>(count));
  const re2::StringPiece all(text.data(), text.size());
  if (!body_->re.Match(all, from, text.size(), RE2::UNANCHORED, found.data(), count)) return false;
  match.begin = static_cast<std::size_t>(found[0].data() - text.data());
  match.end = match.begin + found[0].size();
  match.groups.clear();
  for (std::size_t i = 1; i < found.size(); ++i) {
    match.groups.push_back(found[i].data() == nullptr
                               ? std::string_view()
                               : std::string_view(found[i].data(), found[i].size()));
  }
  return true;
}

}  // namespace freshet::expr
