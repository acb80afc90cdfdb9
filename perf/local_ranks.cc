#include "perf/local_ranks.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "perf/limits.h"

namespace thinwire::perf {
namespace {

// Beyond --grace, which the other ranks use up themselves: to say so and end.
constexpr int kKillAfterSeconds = 2;

ExitCode report(const Failure& failure, int rank, Session* session) {
  if (!failure.quiet()) std::fprintf(stderr, "rank %d: %s\n", rank, failure.what());
  if (session != nullptr) session->announce_failure(failure.what());
  return failure.code();
}

ExitCode run_one(const SessionPlan& plan, const RankBody& body) {
  std::optional<Session> session;
  Session* joined = nullptr;
  try {
    joined = &session.emplace(plan);
    const ExitCode code = body(*joined);
    joined->barrier();
    return code;
  } catch (const Failure& failure) {
    return report(failure, plan.rank, joined);
  } catch (const std::exception& error) {
    return report(Failure(ExitCode::runtime_error, error.what()), plan.rank, joined);
  }
}

struct Child {
  pid_t pid = 0;
  int rank = 0;
  bool running = true;
};

ExitCode code_of(int status, int rank) {
  if (WIFEXITED(status)) return static_cast<ExitCode>(WEXITSTATUS(status));
  std::fprintf(stderr, "rank %d was killed by signal %d (%s)\n", rank, WTERMSIG(status),
               strsignal(WTERMSIG(status)));
  return ExitCode::runtime_error;
}

// Reaps what has ended.
void reap(std::vector<Child>& children, ExitCode& worst, bool& failed) {
  for (Child& child : children) {
    if (!child.running) continue;
    int status = 0;
    const pid_t ended = waitpid(child.pid, &status, WNOHANG);
    if (ended != child.pid) continue;
    child.running = false;
    const ExitCode code = code_of(status, child.rank);
    worst = worst_of(worst, code);
    failed |= code != ExitCode::ok;
  }
}

void kill_running(const std::vector<Child>& children) {
  for (const Child& child : children) {
    if (!child.running) continue;
    std::fprintf(stderr, "rank %d has not ended since another failed (stopped?): it is killed\n",
                 child.rank);
    kill(child.pid, SIGKILL);
    waitpid(child.pid, nullptr, 0);
  }
}

ExitCode wait_for(std::vector<Child>& children, int grace_s) {
  ExitCode worst = ExitCode::ok;
  bool failed = false;
  Deadline patience = Deadline::never();
  for (;;) {
    const bool had_failed = failed;
    reap(children, worst, failed);
    bool running = false;
    for (const Child& child : children) running |= child.running;
    if (!running) return worst;
    if (failed && !had_failed) patience = Deadline::after_seconds(grace_s + kKillAfterSeconds);
    if (patience.passed()) {
      kill_running(children);
      return worst;
    }
    poll(nullptr, 0, 20);
  }
}

SessionPlan plan_of(const Options& options, const LauncherInfo& launcher) {
  SessionPlan plan;
  plan.rank = launcher.rank * options.local_ranks;
  plan.ranks = launcher.ranks * options.local_ranks;
  plan.rendezvous = {launcher.rendezvous_host, launcher.rendezvous_port};
  plan.timeout_s = options.timeout_s;
  return plan;
}

}  // namespace

void identify_tensors_by_buffer() { setenv("THINWIRE_EF_IDENTITY", "buffer", 0); }

ExitCode run_ranks(const Options& options, const LauncherInfo& launcher, const RankBody& body) {
  SessionPlan plan = plan_of(options, launcher);
  Socket listener;
  if (plan.rank == 0 && plan.ranks > 1) {
    // Launched alone: any free port, known to the children before they are forked.
    const bool alone = launcher.launcher.empty();
    try {
      listener = listen_on(alone ? HostPort{"127.0.0.1", 0} : plan.rendezvous);
    } catch (const Failure& failure) {
      return report(failure, 0, nullptr);
    }
    if (alone) plan.rendezvous = bound_to(listener);
  }
  if (options.local_ranks == 1) {
    plan.listener_fd = listener.release();
    return run_one(plan, body);
  }
  std::fflush(nullptr);
  std::vector<Child> children;
  const pid_t parent = getpid();
  for (int i = 0; i < options.local_ranks; ++i) {
    const pid_t pid = fork();
    if (pid < 0) {
      std::fprintf(stderr, "rank %d cannot be started: %s\n", plan.rank + i,
                   error_text(errno).c_str());
      for (const Child& child : children) kill(child.pid, SIGKILL);
      return ExitCode::runtime_error;
    }
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) std::_Exit(static_cast<int>(ExitCode::runtime_error));
      plan.rank += i;
      if (plan.rank == 0) {
        plan.listener_fd = listener.release();
      } else {
        listener = Socket();
      }
      std::exit(static_cast<int>(run_one(plan, body)));
    }
    children.push_back({pid, plan.rank + i, true});
  }
  listener = Socket();  // or ranks would wait in its backlog when rank 0 has gone
  return wait_for(children, options.grace_s);
}

}  // namespace thinwire::perf
