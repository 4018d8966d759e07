// SPDX-License-Identifier: MIT
// Starting processes, listening to them, and cleaning up when one fails.
#include "runner/jobs.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace demo {
namespace {

std::string text_of(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

constexpr double almost_done = 0.999;  // all that a process can say of itself: it may still be writing its files

// One running process. Ends it when destroyed early.
class process {
 public:
    process(const job& what, std::size_t job_index) : what_(&what), index_(job_index) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) fail(std::strerror(errno));
        const int log = open(what.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (log < 0) fail("cannot write " + what.log.string());
        std::vector<std::string> words{"/proc/self/exe"};
        words.insert(words.end(), what.arguments.begin(), what.arguments.end());
        std::vector<char*> raw;
        for (std::string& word : words) raw.push_back(word.data());
        raw.push_back(nullptr);
        id_ = fork();
        if (id_ == 0) {  // only calls that are safe between fork and exec
            dup2(ends[1], STDOUT_FILENO);
            dup2(log, STDERR_FILENO);
            execv(raw[0], raw.data());
            _exit(127);
        }
        close(ends[1]);
        close(log);
        output_ = ends[0];
        if (id_ < 0) fail(std::strerror(errno));
    }
    process(const process&) = delete;
    process& operator=(const process&) = delete;
    ~process() {
        if (id_ > 0) {
            kill(id_, SIGTERM);
            waitpid(id_, nullptr, 0);
        }
        close(output_);
    }

    int output() const { return output_; }
    std::size_t index() const { return index_; }

    // Reads what is there; false once the process has ended well.
    bool listen(const job_report& report) {
        char part[4096];
        const ssize_t count = read(output_, part, sizeof part);
        if (count < 0 && errno == EINTR) return true;
        if (count <= 0) {
            finish();
            report(index_, 1.0);
            return false;
        }
        unread_.append(part, static_cast<std::size_t>(count));
        for (std::size_t end = unread_.find('\n'); end != std::string::npos; end = unread_.find('\n')) {
            std::istringstream line(unread_.substr(0, end));
            unread_.erase(0, end + 1);
            std::string word;
            double share = 0.0;
            if (line >> word >> share && word == "progress") report(index_, std::min(share, almost_done));
        }
        return true;
    }

 private:
    [[noreturn]] void fail(const std::string& why) const {
        throw std::runtime_error("demo: the process for '" + what_->name + "' failed: " + why);
    }
    void finish() {
        int status = 0;
        waitpid(std::exchange(id_, 0), &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
        const std::string end = WIFSIGNALED(status) ? std::string("signal ") + strsignal(WTERMSIG(status))
                                                    : "exit status " + std::to_string(WEXITSTATUS(status));
        fail(end + "\n" + text_of(what_->log));
    }

    const job* what_;
    std::size_t index_;
    pid_t id_ = 0;
    int output_ = -1;
    std::string unread_;
};

}  // namespace

void run_jobs(const std::vector<job>& jobs, std::size_t at_once, const job_report& report) {
    std::vector<std::unique_ptr<process>> running;
    std::size_t next = 0;
    while (next < jobs.size() || !running.empty()) {
        for (; running.size() < at_once && next < jobs.size(); ++next) {
            running.push_back(std::make_unique<process>(jobs[next], next));
        }
        std::vector<pollfd> waiting;
        for (const auto& p : running) waiting.push_back({p->output(), POLLIN, 0});
        if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) {
            throw std::runtime_error(std::string("demo: poll: ") + std::strerror(errno));
        }
        for (std::size_t i = running.size(); i-- > 0;) {
            if (waiting[i].revents != 0 && !running[i]->listen(report)) {
                running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
    }
}

void prepare_environment(char** arguments) {
    bool is_prepared = true;
    const auto prepare = [&](const char* name, const char* value) {
        is_prepared = is_prepared && std::getenv(name) != nullptr;
        setenv(name, value, 0);
    };
    prepare("OPENBLAS_NUM_THREADS", "1");
    prepare("OMP_NUM_THREADS", "1");
#if defined(__x86_64__)
    // OpenBLAS takes a processor newer than itself for the oldest it knows, at a fifth of the speed. Name the kernels
    // by what the processor can do; where OpenBLAS would have chosen well, it chooses the same.
    const bool avx512 = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
                        __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0;
    const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    if (avx512 || avx2) prepare("OPENBLAS_CORETYPE", avx512 ? "SKYLAKEX" : "HASWELL");
#endif
    if (is_prepared) return;
    execv("/proc/self/exe", arguments);
    throw std::runtime_error(std::string("demo: cannot start anew: ") + std::strerror(errno));
}

}  // namespace demo
