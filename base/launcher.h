// Who am I among the ranks: read from mpirun, srun or torchrun variables. A value.
#pragma once

#include <string>

#include "base/config.h"
#include "base/status.h"

namespace thinwire {

struct LauncherInfo {
  std::string launcher;  // "torchrun", "openmpi", "pmi", "slurm"; "" when launched alone
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  std::string rendezvous_host = "127.0.0.1";  // where rank 0 listens (MASTER_ADDR)
  int rendezvous_port = 29400;                // MASTER_PORT
};

// Understands RANK/WORLD_SIZE/LOCAL_RANK/MASTER_ADDR/MASTER_PORT, OMPI_COMM_WORLD_*, PMI_*,
// SLURM_PROCID/NTASKS/LOCALID/NODELIST. Code::invalid_config (logged, with the names and values)
// when a set is incomplete or contradictory.
Result<LauncherInfo> launcher_info(const EnvironmentList& environment, const Log& log);

}  // namespace thinwire
