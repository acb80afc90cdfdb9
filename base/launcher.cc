#include "base/launcher.h"

#include <charconv>
#include <optional>
#include <span>
#include <string_view>

namespace thinwire {
namespace {

// One launcher's names; of alternatives the first that is set counts.
struct LauncherNames {
  std::string_view launcher;
  std::span<const std::string_view> rank;
  std::span<const std::string_view> ranks;
  std::span<const std::string_view> local_rank;
  std::span<const std::string_view> local_ranks;
};

constexpr std::string_view kTorchRank[] = {"RANK"};
constexpr std::string_view kTorchRanks[] = {"WORLD_SIZE"};
constexpr std::string_view kTorchLocal[] = {"LOCAL_RANK"};
constexpr std::string_view kTorchLocals[] = {"LOCAL_WORLD_SIZE"};
constexpr std::string_view kOmpiRank[] = {"OMPI_COMM_WORLD_RANK"};
constexpr std::string_view kOmpiRanks[] = {"OMPI_COMM_WORLD_SIZE"};
constexpr std::string_view kOmpiLocal[] = {"OMPI_COMM_WORLD_LOCAL_RANK"};
constexpr std::string_view kOmpiLocals[] = {"OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr std::string_view kPmiRank[] = {"PMI_RANK"};
constexpr std::string_view kPmiRanks[] = {"PMI_SIZE"};
constexpr std::string_view kPmiLocal[] = {"MPI_LOCALRANKID", "PMI_LOCAL_RANK"};
constexpr std::string_view kPmiLocals[] = {"MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"};
constexpr std::string_view kSlurmRank[] = {"SLURM_PROCID"};
constexpr std::string_view kSlurmRanks[] = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"};
constexpr std::string_view kSlurmLocal[] = {"SLURM_LOCALID"};

constexpr LauncherNames kLaunchers[] = {
    {"torchrun", kTorchRank, kTorchRanks, kTorchLocal, kTorchLocals},
    {"openmpi", kOmpiRank, kOmpiRanks, kOmpiLocal, kOmpiLocals},
    {"pmi", kPmiRank, kPmiRanks, kPmiLocal, kPmiLocals},
    {"slurm", kSlurmRank, kSlurmRanks, kSlurmLocal, {}},
};

class Variables {
 public:
  explicit Variables(const EnvironmentList& list) : list_(list) {}

  const std::string* find(std::string_view name) const {
    for (const auto& [key, value] : list_) {
      if (key == name && !value.empty()) return &value;
    }
    return nullptr;
  }

  std::string_view first_set(std::span<const std::string_view> names) const {
    for (const std::string_view name : names) {
      if (find(name) != nullptr) return name;
    }
    return {};
  }

 private:
  const EnvironmentList& list_;
};

Status rejected() { return {Code::invalid_config, "the launcher's variables do not make sense"}; }

// Reads the first of `names` that is set as an integer in [minimum, maximum]; `absent` where none
// is, nullopt (logged) where it is something else.
std::optional<int> integer_of(const Variables& variables, std::span<const std::string_view> names,
                              int minimum, int maximum, int absent, const Log& log) {
  const std::string_view name = variables.first_set(names);
  if (name.empty()) return absent;
  const std::string& text = *variables.find(name);
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && value >= minimum && value <= maximum) return value;
  THINWIRE_WARN(log, "%s=%s must be a number from %d to %d", std::string(name).c_str(),
                text.c_str(), minimum, maximum);
  return std::nullopt;
}

// The first host of Slurm's compressed list: "gpu[03-09,11],x" is gpu03.
std::string first_host(std::string_view list) {
  std::string host;
  for (std::size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] != '[') {
      host += list[i];
      continue;
    }
    const std::size_t close = list.find(']', i);
    const std::string_view range = list.substr(i + 1, close - i - 1);
    host += range.substr(0, range.find_first_of("-,"));
    if (close == std::string_view::npos) break;
    i = close;
  }
  return host;
}

// A batch script sees SLURM_PROCID and SLURM_NTASKS too, without being one of the job's tasks.
bool is_batch_script(const Variables& variables) {
  return variables.find("SLURM_JOB_ID") != nullptr && variables.find("SLURM_STEP_ID") == nullptr &&
         variables.find("SLURM_STEPID") == nullptr;
}

const LauncherNames* detect(const Variables& variables) {
  for (const LauncherNames& names : kLaunchers) {
    if (names.launcher == "slurm" && is_batch_script(variables)) continue;
    const bool rank = !variables.first_set(names.rank).empty();
    const bool ranks = !variables.first_set(names.ranks).empty();
    if (rank || ranks) return &names;
  }
  return nullptr;
}

// Equal on every rank of one Slurm step, different for steps that share a host.
int default_port(const Variables& variables, int fallback) {
  const std::string* job = variables.find("SLURM_JOB_ID");
  if (job == nullptr) return fallback;
  unsigned number = 0;
  std::from_chars(job->data(), job->data() + job->size(), number);
  return fallback + static_cast<int>(number % 1000);
}

Status read_rendezvous(const Variables& variables, int local_ranks, const Log& log,
                       LauncherInfo& info) {
  constexpr std::string_view kHostLists[] = {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST",
                                             "SLURM_NODELIST"};
  constexpr std::string_view kPort[] = {"MASTER_PORT"};
  if (const std::string* host = variables.find("MASTER_ADDR")) {
    info.rendezvous_host = *host;
  } else if (const auto list = variables.first_set(kHostLists); !list.empty()) {
    info.rendezvous_host = first_host(*variables.find(list));
  } else if (info.launcher == "torchrun" && info.ranks > 1) {
    THINWIRE_WARN(log, "RANK=%d and WORLD_SIZE=%d are set, MASTER_ADDR is not", info.rank,
                  info.ranks);
    return rejected();
  } else if (local_ranks < info.ranks) {
    THINWIRE_WARN(log,
                  "%d ranks run on several hosts and nothing says where rank 0 is: set MASTER_ADDR "
                  "to its host name",
                  info.ranks);
    return rejected();
  }
  const auto port =
      integer_of(variables, kPort, 1, 65534, default_port(variables, info.rendezvous_port), log);
  if (!port) return rejected();
  info.rendezvous_port = *port;
  // torchrun's agent listens on MASTER_PORT itself.
  if (variables.find("TORCHELASTIC_RUN_ID") != nullptr) ++info.rendezvous_port;
  return {};
}

Status check_complete(const Variables& variables, const LauncherNames& names, const Log& log) {
  const std::string_view rank = variables.first_set(names.rank);
  const std::string_view ranks = variables.first_set(names.ranks);
  if (!rank.empty() && !ranks.empty()) return {};
  const std::string_view present = rank.empty() ? ranks : rank;
  const std::string_view missing = rank.empty() ? names.rank[0] : names.ranks[0];
  THINWIRE_WARN(log, "%s=%s is set, %s is not", std::string(present).c_str(),
                variables.find(present)->c_str(), std::string(missing).c_str());
  return rejected();
}

}  // namespace

Result<LauncherInfo> launcher_info(const EnvironmentList& environment, const Log& log) {
  constexpr int kMaxRanks = 1 << 20;
  const Variables variables(environment);
  LauncherInfo info;
  const LauncherNames* names = detect(variables);
  if (names == nullptr) return info;
  info.launcher = names->launcher;
  if (const Status status = check_complete(variables, *names, log); !status.ok()) return status;

  const auto ranks = integer_of(variables, names->ranks, 1, kMaxRanks, 1, log);
  if (!ranks) return rejected();
  const auto rank = integer_of(variables, names->rank, 0, *ranks - 1, 0, log);
  const auto local = integer_of(variables, names->local_rank, 0, *ranks - 1, 0, log);
  const auto locals = integer_of(variables, names->local_ranks, 1, *ranks, *ranks, log);
  if (!rank || !local || !locals) return rejected();
  info.rank = *rank;
  info.ranks = *ranks;
  info.local_rank = *local;
  if (const Status status = read_rendezvous(variables, *locals, log, info); !status.ok()) {
    return status;
  }
  return info;
}

}  // namespace thinwire
