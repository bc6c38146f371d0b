// The mslc command, as a user meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "softmetal/msl/compiler.h"
#include "softmetal/msl/process.h"

namespace softmetal::msl {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Command : public testing::Test {
  protected:
    void SetUp() override {
        auto folder = TemporaryFolder::create();
        ASSERT_TRUE(folder) << folder.error();
        folder_ = std::make_unique<TemporaryFolder>(std::move(*folder));
        write("scale.h", "constant float kScale = SCALE;\n");
        write("a.metal",
              "#include \"scale.h\"\nkernel void a(device float* x [[buffer(0)]], threadgroup "
              "float* t [[threadgroup(1)]]) { x[0] *= kScale; }\n");
        write("b.metal",
              "[[kernel, max_total_threads_per_threadgroup(64)]] void b(constant int& n "
              "[[buffer(2)]]) {}\n");
    }
    std::string path(const std::string& name) const { return (folder_->path() / name).string(); }
    void write(const std::string& name, const std::string& text) {
        ASSERT_TRUE(write_file(path(name), text));
    }
    ProcessOutput run(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), SOFTMETAL_MSLC);
        auto process = Process::start(arguments);
        EXPECT_TRUE(process) << process.error();
        return process ? process->wait() : ProcessOutput{};
    }

  private:
    std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(Command, CompilesFilesIntoOneLibraryAndListsIt) {
    const auto made = run({"-o", path("out.smlib"), "-DSCALE=3", "--depfile", path("out.d"),
                           path("a.metal"), path("b.metal")});
    ASSERT_EQ(made.status, 0) << made.error;
    EXPECT_EQ(made.error, "");
    const auto library = deserialize(*read_file(path("out.smlib")));
    ASSERT_TRUE(library) << library.error();
    ASSERT_EQ(library->units.size(), 2u);
    EXPECT_FALSE(library->units[0].checked.empty());
    EXPECT_THAT(*read_file(path("out.d")), HasSubstr(path("scale.h")));
    const auto listed = run({"--list", path("out.smlib")});
    EXPECT_EQ(listed.status, 0) << listed.error;
    EXPECT_EQ(listed.out, "kernel a  " + path("a.metal") +
                              ":2\n"
                              "  buffer 0: device float* x\n"
                              "  threadgroup 1: threadgroup float* t\n"
                              "kernel b  " +
                              path("b.metal") +
                              ":1\n"
                              "  buffer 2: constant int& n\n"
                              "  at most 64 threads\n");
}

TEST_F(Command, FailsWithTheLogOnStandardError) {
    const auto made = run({"-o", path("out.smlib"), path("a.metal")});
    EXPECT_EQ(made.status, 1);
    EXPECT_EQ(made.out, "");
    EXPECT_THAT(made.error, HasSubstr("scale.h:1:25: error: use of undeclared identifier 'SCALE'"));
    EXPECT_FALSE(fs::exists(path("out.smlib")));
}

TEST_F(Command, ShowsItsStages) {
    EXPECT_THAT(run({"-E", "-D", "SCALE=4", path("a.metal")}).out,
                HasSubstr("constant float kScale = 4;"));
    EXPECT_THAT(run({"-S", "-D", "SCALE=4", path("a.metal")}).out, HasSubstr("SM_MODULE("));
    EXPECT_THAT(run({"--flatten", path("a.metal")}).out,
                HasSubstr("constant float kScale = SCALE;"));
}

TEST_F(Command, RefusesTwoFilesWithAKernelOfOneName) {
    write("other.metal", "kernel void b(device int* x [[buffer(0)]]) {}\n");
    const auto made = run({"-o", path("out.smlib"), path("b.metal"), path("other.metal")});
    EXPECT_EQ(made.status, 1);
    EXPECT_EQ(made.error, "mslc: error: kernel 'b' is in " + path("b.metal") + " and in " +
                              path("other.metal") + ": a library has one kernel of a name\n");
    EXPECT_FALSE(fs::exists(path("out.smlib")));
}

TEST_F(Command, WarnsOfAFileWithoutKernels) {
    write("none.metal", "kernel void declared(device int* x [[buffer(0)]]);\n");
    const auto made = run({"-o", path("out.smlib"), path("none.metal")});
    EXPECT_EQ(made.status, 0);
    EXPECT_EQ(made.error, "mslc: warning: no kernels in " + path("none.metal") + "\n");
}

TEST_F(Command, SaysInOneLineWhatIsWrongWithItsOptions) {
    const auto expect = [&](const std::vector<std::string>& words, const std::string& said) {
        const auto result = run(words);
        EXPECT_EQ(result.status, 1);
        EXPECT_EQ(result.error, "mslc: error: " + said + "\n");
    };
    const auto file = path("b.metal");
    expect({"--nonsense", file}, "unknown option '--nonsense'; see mslc --help");
    expect({"-E", "-S", file}, "'-E' and '-S' exclude each other; see mslc --help");
    expect({"--list", "-S", file}, "'--list' and '-S' exclude each other; see mslc --help");
    expect({"--strict", "-E", file}, "'--strict' and '-E' exclude each other; see mslc --help");
    expect({"-o", path("no/out.smlib"), file},
           "cannot write '" + path("no/out.smlib") + "': No such file or directory");
    expect({path("absent.metal")},
           "cannot read '" + path("absent.metal") + "': No such file or directory");
}

TEST_F(Command, LeavesNoTemporaryFilesWhenItIsStopped) {
    // A compiler that takes its time.
    write("clang", "#!/bin/sh\n[ \"$1\" = --version ] && echo clang version 19 && exit\nsleep 5\n");
    fs::permissions(path("clang"), fs::perms::owner_all);
    fs::create_directory(path("tmp"));
    fs::create_directory(path("tmp/softmetal-999999999-abcdef"));  // of a process long gone
    fs::last_write_time(path("tmp/softmetal-999999999-abcdef"),
                        fs::file_time_type::clock::now() - std::chrono::seconds(10));
    fs::create_directory(path("tmp/softmetal-notes"));
    const std::string script = "TMPDIR=" + path("tmp") + " SOFTMETAL_CLANG=" + path("clang") + " " +
                               SOFTMETAL_MSLC + " " + path("b.metal") + " & until ls " +
                               path("tmp") +
                               "/softmetal-*/source.metal; do "
                               "sleep 0.01; done; kill -TERM $!; wait $!; echo status $?; ls " +
                               path("tmp");
    auto process = Process::start({"/bin/sh", "-c", script});
    ASSERT_TRUE(process) << process.error();
    EXPECT_THAT(process->wait().out, testing::EndsWith("status 143\nsoftmetal-notes\n"));
}

TEST_F(Command, TakesTheCompilersProcessesWithItWhenItIsKilled) {
    // Like clang's driver: a program that waits for another one.
    write("clang",
          "#!/bin/sh\n[ \"$1\" = --version ] && echo clang version 19 && exit\n"
          "sleep 600 &\necho $$ $! > " +
              path("pids") + ".new\nmv " + path("pids") + ".new " + path("pids") + "\nwait\n");
    fs::permissions(path("clang"), fs::perms::owner_all);
    fs::create_directory(path("tmp"));
    // A zombie, which nobody may reap here, has ended too.
    const std::string script =
        "TMPDIR=" + path("tmp") + " SOFTMETAL_CLANG=" + path("clang") + " " + SOFTMETAL_MSLC + " " +
        path("b.metal") + " & until [ -e " + path("pids") +
        " ]; do sleep 0.01; done; kill -KILL $!; " + "for pid in $(cat " + path("pids") +
        "); do n=0; "
        "while grep -q '^State:.[^Z]' /proc/$pid/status 2>/dev/null && [ $n -lt 500 ]; do "
        "sleep 0.01; n=$((n+1)); done; [ $n -lt 500 ] && echo ended || kill -KILL $pid; done";
    auto process = Process::start({"/bin/sh", "-c", script});
    ASSERT_TRUE(process) << process.error();
    EXPECT_THAT(process->wait().out, testing::EndsWith("ended\nended\n"));
}

TEST_F(Command, SparesATemporaryFolderThatSomebodyHolds) {
    fs::create_directory(path("tmp"));
    const auto held = path("tmp/softmetal-999999999-abcdef");  // of another container's process
    fs::create_directory(held);
    fs::last_write_time(held, fs::file_time_type::clock::now() - std::chrono::seconds(10));
    const auto compile = "TMPDIR=" + path("tmp") + " " + SOFTMETAL_MSLC + " -S " + path("b.metal");
    const auto run_script = [](const std::string& script) {
        auto process = Process::start({"/bin/sh", "-c", script});
        ASSERT_TRUE(process) << process.error();
        const auto output = process->wait();
        EXPECT_EQ(output.status, 0) << output.error;
    };
    run_script("exec 9<" + held + " && flock 9 && " + compile);
    EXPECT_TRUE(fs::exists(held));
    run_script(compile);
    EXPECT_FALSE(fs::exists(held));
}

TEST_F(Command, RefusesWhatItDoesNotKnow) {
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {}, {"--nonsense", "x.metal"}, {"x.metal", "-o"}, {path("absent.metal")}}) {
        const auto said = run(words);
        EXPECT_EQ(said.status, 1);
        EXPECT_NE(said.error, "");
    }
}

}  // namespace
}  // namespace softmetal::msl
