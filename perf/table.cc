#include "perf/table.h"

#include <cstdarg>
#include <cstdio>

namespace thinwire::perf {
namespace {

__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

std::string measured_text(const std::optional<Measurement>& measured) {
  if (!measured) return format("  %7s  %6s  %6s  %6s", "N/A", "N/A", "N/A", "N/A");
  const std::string wrong =
      measured->wrong ? format("%6g", static_cast<double>(*measured->wrong)) : "   N/A";
  return format("  %7s  %6s  %6s  %s", fitted(measured->time_us, 7).c_str(),
                fitted(measured->alg_bw, 6).c_str(), fitted(measured->bus_bw, 6).c_str(),
                wrong.c_str());
}

std::string error_text(const std::optional<double>& error) {
  return error ? format("  %8.2e", *error) : format("  %8s", "-");
}

std::string equal_text(const std::optional<bool>& equal) {
  if (!equal) return "-";
  return *equal ? "yes" : "no";
}

std::string own_columns(const Measurement& m, std::size_t bytes, const TableColumns& columns) {
  std::string text = m.wire_bytes ? format("  %12.0f", *m.wire_bytes) : format("  %12s", "-");
  if (columns.errors) text += error_text(m.max_error) + error_text(m.rms_error);
  text += m.hash ? format("  %016llx", static_cast<unsigned long long>(*m.hash))
                 : format("  %16s", "-");
  text += format("  %5s", equal_text(m.hashes_equal).c_str());
  if (columns.reference) {
    const double reference = m.reference_us.value_or(0);
    const double bandwidth = reference > 0 ? static_cast<double>(bytes) / reference / 1e3 : 0;
    text += format("  %6s  %6s", fitted(bandwidth, 6).c_str(),
                   fitted(m.time_us > 0 ? reference / m.time_us : 0, 6).c_str());
  }
  return text;
}

std::string own_header(const TableColumns& columns, const char* wire, const char* max_error,
                       const char* rms_error, const char* hash, const char* equal,
                       const char* reference, const char* ratio) {
  std::string text = format("  %12s", wire);
  if (columns.errors) text += format("  %8s  %8s", max_error, rms_error);
  text += format("  %16s  %5s", hash, equal);
  if (columns.reference) text += format("  %6s  %6s", reference, ratio);
  return text;
}

}  // namespace

std::string fitted(double value, int width) {
  for (const int decimals : {2, 1, 0}) {
    const std::string text = format("%.*f", decimals, value);
    if (static_cast<int>(text.size()) <= width) return text;
  }
  return format(width >= 7 ? "%.1e" : "%.0e", value);
}

std::string preamble_text(const Options& o, const RunInfo& info) {
  const bool by_factor = o.step_factor > 1;
  std::string text = "# Collective test starting: " + info.program + "\n";
  text += format(
      "# nThread 1 nGpus %d minBytes %zu maxBytes %zu step: %zu(%s) warmup iters: %d "
      "iters: %d agg iters: 1 validation: %d graph: 0\n",
      o.local_ranks, o.min_bytes, o.max_bytes,
      by_factor ? static_cast<std::size_t>(o.step_factor) : o.step_bytes,
      by_factor ? "factor" : "bytes", o.warmup, o.iterations, o.check);
  text += "# " + info.transport + "\n";
  if (!info.plugin_path.empty()) text += "# Plugin: " + info.plugin_path + "\n";
  text += "# Bytes sent are counted by: " + info.wire_source + "\n#\n# Using devices\n";
  for (const RankInfo& rank : info.ranks) {
    text += format("#  Rank %2d Pid %6d on %10s device %s\n", rank.rank, rank.pid,
                   rank.host.c_str(), rank.device.c_str());
  }
  return text;
}

std::string header_text(const TableColumns& columns) {
  std::string text = format(
      "#\n# %10s  %12s  %8s  %6s  %6s           out-of-place                "
      "       in-place          \n",
      "", "", "", "", "");
  text += format("# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s", "size",
                 "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time",
                 "algbw", "busbw", "#wrong");
  text += own_header(columns, "sent/rank", "max.err", "rms.err", "output hash", "equal", "tcp",
                     "ratio");
  text += format("\n# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s", "(B)",
                 "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)",
                 "(GB/s)", "");
  text += own_header(columns, "(B)", "(rel.)", "(rel.)", "", "", "(GB/s)", "");
  return text + "\n";
}

std::string row_text(const Row& row, int root, const TableColumns& columns) {
  std::string text =
      format("%12zu  %12zu  %8s  %6s  %6d", row.bytes, row.count, thinwire::name_of(row.type),
             row.has_op ? name_of(row.op) : "none", root);
  text += measured_text(row.out_of_place) + measured_text(row.in_place);
  if (row.out_of_place) text += own_columns(*row.out_of_place, row.bytes, columns);
  return text + "\n";
}

std::string footer_text(const RunInfo& info, const std::vector<Row>& rows) {
  const Summary summary = summarize(rows);
  std::string text = format("# %-20s : %lld %s\n", "Out of bounds values",
                            static_cast<long long>(summary.out_of_bounds),
                            summary.out_of_bounds ? "FAILED" : "OK");
  text += format("# %-20s : %g \n#\n", "Avg bus bandwidth", summary.average_bus_bandwidth);
  for (const Row& row : rows) {
    for (const auto* measured : {&row.out_of_place, &row.in_place}) {
      if (!*measured || (*measured)->first_wrong.empty()) continue;
      text += format("# wrong: size %zu %s %s, ", row.bytes, thinwire::name_of(row.type),
                     measured == &row.in_place ? "in place" : "out of place") +
              (*measured)->first_wrong + "\n";
    }
  }
  return text + "# Collective test concluded: " + info.program + "\n";
}

}  // namespace thinwire::perf
