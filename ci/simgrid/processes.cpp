// The peer of crates/simulate/tests/it/processes.rs: the same programs for S4U. Prints a line per event,
// "DATE WHO WHAT". Usage: processes PLATFORM PROGRAM
#include <cstdio>
#include <map>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>
namespace sg4 = simgrid::s4u;
using sg4::this_actor::execute;
using sg4::this_actor::sleep_for;

static void log(const std::string& who, const std::string& what)
{
  printf("%.12g %s %s\n", sg4::Engine::get_clock(), who.c_str(), what.c_str());
}
static sg4::Host* host(const char* name) { return sg4::Host::by_name(name); }
static sg4::Mailbox* box(const std::string& name) { return sg4::Mailbox::by_name(name); }
template <class F> static sg4::ActorPtr actor(const char* name, const char* on, F f)
{
  return sg4::Actor::create(name, host(on), f);
}
static int receive(const std::string& name) { return *box(name)->get_unique<int>(); }
static void send(const std::string& name, int value, double bytes) { box(name)->put(new int(value), bytes); }

static void master_worker()
{
  actor("master", "a", [] {
    for (int k = 0; k < 20; k++)
      send("w" + std::to_string(k % 4), k, 3e6);
    for (int k = 0; k < 4; k++)
      send("w" + std::to_string(k), -1, 0);
    log("master", "done");
  });
  const char* hosts[] = {"b", "c", "e", "f"};
  for (int w = 0; w < 4; w++)
    actor("worker", hosts[w], [w] {
      std::string me = "w" + std::to_string(w);
      for (;;) {
        int k = receive(me);
        if (k < 0)
          break;
        execute(2e8 + 1e7 * k);
        log(me, "computed " + std::to_string(k));
      }
      log(me, "done");
    });
}

static void token_ring()
{
  const char* hosts[] = {"a", "b", "c", "e", "f", "g"};
  for (int k = 0; k < 6; k++)
    actor("node", hosts[k], [k] {
      std::string me = std::to_string(k), next = std::to_string((k + 1) % 6);
      for (int round = 0; round < 3; round++) {
        if (k > 0) {
          int hops = receive(me);
          send(next, hops + 1, 1e6);
        } else {
          send(next, 6 * round, 1e6);
          log(me, "hops " + std::to_string(receive(me)));
        }
      }
    });
}

// Four peers and a seed; each asks the others in turn for the pieces it lacks.
static void peers()
{
  const char* hosts[]   = {"a", "b", "c", "f", "g"};
  static const int pieces = 8;
  static std::vector<std::vector<bool>> has;
  has.assign(5, std::vector<bool>(pieces, false));
  has[0].assign(pieces, true);
  for (int p = 0; p < 5; p++) {
    actor("server", hosts[p], [p] {
      sg4::Actor::self()->daemonize();
      for (;;) {
        int request = receive("server" + std::to_string(p));
        int from = request / 100, piece = request % 100;
        bool there = has[p][piece];
        box("peer" + std::to_string(from))->put_init(new int(there ? piece : -1), there ? 4e6 + 1e5 * p : 1e3)->detach();
      }
    });
    actor("peer", hosts[p], [p] {
      std::string me = "peer" + std::to_string(p);
      int asked      = 0;
      for (int step = 0; step < 10000; step++) {
        int piece = -1;
        for (int k = 0; k < pieces && piece < 0; k++)
          if (not has[p][(k + 2 * p) % pieces])
            piece = (k + 2 * p) % pieces;
        if (piece < 0)
          break;
        int other = (p + 1 + step) % 5;
        if (other == p)
          continue;
        asked++;
        send("server" + std::to_string(other), 100 * p + piece, 100);
        int got = receive(me);
        if (got >= 0) {
          execute(1e7);
          has[p][got] = true;
        }
      }
      log(me, "complete, asked " + std::to_string(asked));
    });
  }
}

static void timeouts()
{
  actor("receiver", "a", [] {
    try {
      box("m")->get_unique<int>(1.5);
    } catch (const simgrid::TimeoutException&) {
      log("receiver", "timeout");
    }
    sleep_for(4);
    log("receiver", "got " + std::to_string(receive("m")));
    try {
      box("n")->get_unique<int>(0.5);
      log("receiver", "got n");
    } catch (const simgrid::TimeoutException&) {
      log("receiver", "timeout under way");
    }
  });
  actor("sender", "e", [] {
    sleep_for(2);
    try {
      box("m")->put(new int(1), 1e6, 1.0);
    } catch (const simgrid::TimeoutException&) {
      log("sender", "timeout");
    }
    box("m")->put(new int(2), 1e6, 10.0);
    log("sender", "sent");
    try {
      box("n")->put(new int(3), 1e8);
    } catch (const simgrid::Exception&) {
      log("sender", "broken off");
    }
  });
}

static void kill_and_join()
{
  auto worker = actor("worker", "b", [] {
    execute(1e9);
    log("worker", "half");
    execute(1e10);
    log("worker", "never");
  });
  auto speaker = actor("speaker", "c", [] { send("k", 1, 1e9); });
  actor("listener", "f", [] {
    try {
      receive("k");
    } catch (const simgrid::Exception&) {
      log("listener", "broken off");
    }
  });
  actor("watcher", "a", [worker] {
    worker->join();
    log("watcher", "joined");
  });
  actor("killer", "a", [worker, speaker] {
    sleep_for(5);
    worker->kill();
    sleep_for(1);
    speaker->kill();
    auto child = actor("child", "e", [] { execute(8e8); });
    child->join();
    log("killer", "child over");
  });
}

static void suspend()
{
  auto worker = actor("worker", "b", [] {
    execute(1e9);
    log("worker", "computed");
    sleep_for(3);
    log("worker", "slept");
    send("s", 1, 8e7);
    log("worker", "sent");
  });
  actor("other", "b", [] { execute(2e9); log("other", "computed"); });
  actor("receiver", "a", [] { receive("s"); log("receiver", "got"); });
  actor("boss", "a", [worker] {
    for (double date : {1.0, 6.5, 9.5}) {
      sleep_for(date - sg4::Engine::get_clock());
      worker->suspend();
      sleep_for(2);
      worker->resume();
    }
  });
}

static void host_failure()
{
  auto worker = actor("worker", "g", [] {
    log("worker", "begins");
    for (;;) {
      int value;
      try {
        value = receive("work");
      } catch (const simgrid::Exception&) {
        log("worker", "broken off");
        continue;
      }
      if (value < 0)
        break;
      execute(1.2e9);
      log("worker", "computed " + std::to_string(value));
    }
  });
  worker->set_auto_restart(true);
  actor("master", "a", [] {
    for (int k = 0; k < 5; k++) {
      try {
        box("work")->put(new int(k), 3e7, 4.0);
        log("master", "sent " + std::to_string(k));
      } catch (const simgrid::TimeoutException&) {
        log("master", "timeout " + std::to_string(k));
      } catch (const simgrid::NetworkFailureException&) {
        log("master", "failed " + std::to_string(k));
      }
    }
    send("work", -1, 0);
    log("master", "done");
  });
  actor("remote", "a", [] {
    try {
      sg4::this_actor::exec_init(1e10)->set_host(host("g"))->start()->wait();
    } catch (const simgrid::HostFailureException&) {
      log("remote", "host failed");
    }
  });
  actor("stream", "g", [] { send("stream", 1, 1e9); log("stream", "never"); });
  actor("sink", "f", [] {
    try {
      receive("stream");
    } catch (const simgrid::NetworkFailureException&) {
      log("sink", "failed");
    }
  });
}

static void link_failure()
{
  actor("sender", "e", [] {
    for (int k = 0; k < 3; k++) {
      try {
        send("l", k, 1.5e7);
        log("sender", "sent " + std::to_string(k));
      } catch (const simgrid::NetworkFailureException&) {
        log("sender", "failed " + std::to_string(k));
        sleep_for(1.6);
      }
    }
  });
  actor("receiver", "a", [] {
    for (int k = 0; k < 3; k++) {
      try {
        log("receiver", "got " + std::to_string(receive("l")));
      } catch (const simgrid::NetworkFailureException&) {
        log("receiver", "failed");
      }
    }
  });
}

static void first_of()
{
  actor("sender", "a", [] {
    std::vector<sg4::CommPtr> all;
    const double bytes[] = {4e7, 1e7, 2.5e7, 1e6};
    const char* to[]     = {"b", "c", "e", "f"};
    for (int k = 0; k < 4; k++)
      all.push_back(box(to[k])->put_async(new int(k), bytes[k]));
    std::vector<int> names = {0, 1, 2, 3};
    while (not all.empty()) {
      ssize_t first = sg4::Comm::wait_any(all);
      log("sender", "sent " + std::to_string(names[first]));
      all.erase(all.begin() + first);
      names.erase(names.begin() + first);
    }
  });
  for (const char* on : {"b", "c", "e", "f"})
    actor("receiver", on, [on] { receive(on); execute(1e8); log(on, "done"); });
}

static void disks()
{
  actor("reader", "a", [] {
    sg4::Disk* disk = host("a")->get_disks().front();
    disk->read(200000000);
    log("reader", "read");
    disk->write(60000000);
    log("reader", "wrote");
  });
  actor("writer", "a", [] {
    sg4::Disk* disk = host("a")->get_disks().front();
    sleep_for(0.5);
    auto io = disk->write_async(100000000);
    execute(1e9);
    log("writer", "computed");
    io->wait();
    log("writer", "wrote");
    disk->read(60000000);
    log("writer", "read");
  });
}

static void async()
{
  actor("sender", "f", [] {
    auto first  = box("x")->put_async(new int(1), 2e7);
    auto second = box("x")->put_async(new int(2), 1e7);
    execute(3e8);
    log("sender", "computed");
    first->wait();
    log("sender", "first");
    while (not second->test())
      sleep_for(0.125);
    log("sender", "second");
    box("x")->put_init(new int(3), 5e6)->detach();
    auto lost = box("y")->put_async(new int(4), 1e9);
    sleep_for(0.4);
    lost->cancel();
    log("sender", "cancelled");
  });
  actor("receiver", "b", [] {
    sleep_for(0.05);
    for (int k = 0; k < 3; k++)
      log("receiver", "got " + std::to_string(receive("x")));
  });
  actor("other", "c", [] {
    try {
      receive("y");
    } catch (const simgrid::Exception&) {
      log("other", "cancelled");
    }
  });
}

static void priorities()
{
  for (int k = 1; k <= 3; k++)
    actor("p", "b", [k] {
      sg4::this_actor::exec_init(1e9)->set_priority(k)->start()->wait();
      log("priority " + std::to_string(k), "done");
    });
  for (int k = 0; k < 3; k++)
    actor("c", "c", [k] {
      auto exec = sg4::this_actor::exec_init(4e9);
      if (k == 0)
        exec->set_bound(5e8);
      exec->start()->wait();
      log("core " + std::to_string(k), "done");
    });
  actor("late", "b", [] { sleep_for(2.5); execute(2e8); log("late", "done"); });
}

static void crossing()
{
  const char* hosts[] = {"a", "b", "c", "f"};
  for (int k = 0; k < 4; k++)
    for (int m = 0; m < 4; m++)
      if (k != m) {
        std::string name = std::string(hosts[k]) + hosts[m];
        double bytes     = 1e7 * (k + 1) + 3e6 * m;
        actor("s", hosts[k], [name, bytes] { send(name, 0, bytes); });
        actor("r", hosts[m], [name] { receive(name); log(name, "got"); });
      }
  actor("self", "a", [] { send("self", 1, 1e8); });
  actor("self", "a", [] { receive("self"); log("self", "got"); });
}

int main(int argc, char** argv)
{
  sg4::Engine engine(&argc, argv);
  static const std::map<std::string, void (*)()> programs = {
      {"master-worker", master_worker}, {"token-ring", token_ring},     {"peers", peers},
      {"timeouts", timeouts},           {"kill-and-join", kill_and_join}, {"suspend", suspend},
      {"host-failure", host_failure},   {"link-failure", link_failure}, {"first-of", first_of},
      {"disks", disks},                 {"async", async},               {"priorities", priorities},
      {"crossing", crossing}};
  auto found = argc > 2 ? programs.find(argv[2]) : programs.end();
  if (found == programs.end())
    return 2;
  engine.load_platform(argv[1]);
  found->second();
  engine.run();
  return 0;
}
