// What processes cost with S4U, beside crates/simulate/examples/process_bench.rs.
// Usage: switches PLATFORM yield|sleep|message|spawn PROCESSES STEPS
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <simgrid/s4u.hpp>
#include <string>
#include <sys/resource.h>
namespace sg4 = simgrid::s4u;

int main(int argc, char** argv)
{
  sg4::Engine engine(&argc, argv);
  if (argc < 5)
    return 2;
  engine.load_platform(argv[1]);
  std::string mode = argv[2];
  int processes = atoi(argv[3]), steps = atoi(argv[4]);
  auto hosts = engine.get_all_hosts();
  for (int k = 0; k < processes; k++)
    sg4::Actor::create("p", hosts[k % hosts.size()], [=] {
      if (mode == "yield")
        for (int s = 0; s < steps; s++)
          sg4::this_actor::yield();
      else if (mode == "sleep")
        for (int s = 0; s < steps; s++)
          sg4::this_actor::sleep_for(1 + 0.001 * (k % 97));
      else if (mode == "message")
        for (int s = 0; s < steps; s++) {
          auto* box = sg4::Mailbox::by_name(std::to_string(k / 2));
          if (k % 2 == 0)
            box->put(new int(s), 1e3);
          else
            box->get_unique<int>();
        }
      else
        sg4::this_actor::sleep_for(1);
    });
  engine.run();
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  printf("%s %d %d: %.3f s CPU, %.1f MB, end %.6g\n", mode.c_str(), processes, steps,
         use.ru_utime.tv_sec + use.ru_stime.tv_sec + 1e-6 * (use.ru_utime.tv_usec + use.ru_stime.tv_usec), use.ru_maxrss / 1024.0,
         sg4::Engine::get_clock());
  return 0;
}
