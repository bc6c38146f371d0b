#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

class Library : public Metal {
  protected:
    NS::SharedPtr<MTL::ComputePipelineState> pipeline_of(
        const NS::SharedPtr<MTL::Function>& function) {
        NS::Error* error = nullptr;
        auto made = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
        EXPECT_TRUE(made) << description(error);
        return made;
    }
    // Runs a kernel that writes one word to buffer 0.
    uint32_t word_of(const NS::SharedPtr<MTL::ComputePipelineState>& pipeline) {
        const auto out = buffer(4);
        auto* commands = queue->commandBuffer();
        auto* encoder = commands->computeCommandEncoder();
        encoder->setComputePipelineState(pipeline.get());
        encoder->setBuffer(out.get(), 0, 0);
        encoder->dispatchThreads({1, 1, 1}, {1, 1, 1});
        encoder->endEncoding();
        EXPECT_EQ(run(commands), "");
        return values<uint32_t>(out.get())[0];
    }
    NS::SharedPtr<MTL::Function> function(const NS::SharedPtr<MTL::Library>& from,
                                          const char* name) {
        return NS::TransferPtr(from->newFunction(text(name)));
    }
};

TEST_F(Library, NamesItsFunctions) {
    const auto made = library(kKernels);
    std::vector<std::string> names;
    for (NS::UInteger i = 0; i < made->functionNames()->count(); ++i) {
        names.push_back(text(made->functionNames()->object<NS::String>(i)));
    }
    EXPECT_THAT(names, testing::IsSupersetOf({"add", "fill", "scale", "sum_groups"}));
    EXPECT_EQ(made->device(), device.get());
    EXPECT_EQ(made->type(), MTL::LibraryTypeExecutable);
}

TEST_F(Library, MakesAFunctionByName) {
    const auto add = function(library(kKernels), "add");
    ASSERT_TRUE(add);
    EXPECT_EQ(text(add->name()), "add");
    EXPECT_EQ(add->functionType(), MTL::FunctionTypeKernel);
    EXPECT_EQ(add->device(), device.get());
    add->setLabel(text("sum"));
    EXPECT_EQ(text(add->label()), "sum");
}

TEST_F(Library, HasNoFunctionOfAnotherName) {
    EXPECT_FALSE(function(library(kKernels), "subtract"));
}

TEST_F(Library, SaysWhichFunctionItLacks) {
    const auto made = library(kKernels);
    const auto constants = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
    NS::Error* error = nullptr;
    EXPECT_EQ(made->newFunction(text("subtract"), constants.get(), &error), nullptr);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->code(), MTL::LibraryErrorFunctionNotFound);
    EXPECT_THAT(description(error), testing::HasSubstr("subtract"));
}

TEST_F(Library, ReportsWhatTheCompilerSays) {
    NS::Error* error = nullptr;
    const auto* made = device->newLibrary(text("#include <metal_stdlib>\nkernel void f(device "
                                               "float* x [[buffer(0)]]) {\n  x[0] = y;\n}\n"),
                                          nullptr, &error);
    EXPECT_EQ(made, nullptr);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(text(error->domain()), "MTLLibraryErrorDomain");
    EXPECT_EQ(error->code(), MTL::LibraryErrorCompileFailure);
    EXPECT_THAT(description(error), testing::HasSubstr("program_source:3:10: error:"));
    EXPECT_THAT(description(error), testing::HasSubstr("'y'"));
}

TEST_F(Library, IsCompiledWithMacros) {
    const auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
    const NS::Object* keys[] = {text("VALUE"), text("OTHER")};
    const NS::Object* macros[] = {text("40"), NS::Number::number(2)};
    options->setPreprocessorMacros(NS::Dictionary::dictionary(macros, keys, 2));
    const auto made = library(R"(
        kernel void f(device uint* out [[buffer(0)]]) { out[0] = VALUE + OTHER; })",
                              options.get());
    ASSERT_TRUE(made);
    EXPECT_EQ(word_of(pipeline_of(function(made, "f"))), 42u);
}

TEST_F(Library, TakesMathModes) {
    const auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
    EXPECT_TRUE(options->fastMathEnabled());
    options->setFastMathEnabled(false);
    EXPECT_EQ(options->mathMode(), MTL::MathModeSafe);
    options->setMathMode(MTL::MathModeFast);
    EXPECT_TRUE(options->fastMathEnabled());
    options->setLanguageVersion(MTL::LanguageVersion3_0);
    EXPECT_TRUE(library(kKernels, options.get()));
}

TEST_F(Library, IsMadeInTheBackground) {
    std::promise<std::string> told;
    NS::SharedPtr<MTL::Library> given;
    device->newLibrary(
        text(kKernels), nullptr,
        MTL::NewLibraryCompletionHandlerFunction([&](MTL::Library* made, NS::Error* error) {
            given = NS::RetainPtr(made);
            told.set_value(error ? description(error) : "");
        }));
    EXPECT_EQ(told.get_future().get(), "");
    ASSERT_TRUE(given);
    EXPECT_TRUE(function(given, "add"));
}

TEST_F(Library, FailsInTheBackground) {
    std::promise<NS::Integer> told;
    device->newLibrary(
        text("kernel void f( {"), nullptr,
        MTL::NewLibraryCompletionHandlerFunction([&](MTL::Library* made, NS::Error* error) {
            EXPECT_EQ(made, nullptr);
            told.set_value(error ? error->code() : 0);
        }));
    EXPECT_EQ(told.get_future().get(), MTL::LibraryErrorCompileFailure);
}

TEST_F(Library, IsFoundBesideTheProgram) {
    const auto made = NS::TransferPtr(device->newDefaultLibrary());
    ASSERT_TRUE(made);
    EXPECT_EQ(word_of(pipeline_of(function(made, "answer"))), 42u);
    NS::Error* error = nullptr;
    const auto again = NS::TransferPtr(device->newDefaultLibrary(NS::Bundle::mainBundle(), &error));
    EXPECT_TRUE(again) << description(error);
}

TEST_F(Library, IsReadFromAFileOrItsBytes) {
    const auto path =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "default.smlib";
    NS::Error* error = nullptr;
    const auto by_url =
        NS::TransferPtr(device->newLibrary(NS::URL::fileURLWithPath(text(path.string())), &error));
    ASSERT_TRUE(by_url) << description(error);
    EXPECT_EQ(word_of(pipeline_of(function(by_url, "answer"))), 42u);

    const auto by_path = NS::TransferPtr(device->newLibrary(text(path.string()), &error));
    ASSERT_TRUE(by_path) << description(error);
    EXPECT_EQ(word_of(pipeline_of(function(by_path, "answer"))), 42u);

    auto file = std::ifstream(path, std::ios::binary);
    const auto bytes = std::string(std::istreambuf_iterator<char>(file), {});
    auto data =
        dispatch_data_create(bytes.data(), bytes.size(), nullptr, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    const auto by_bytes = NS::TransferPtr(device->newLibrary(data, &error));
    dispatch_release(data);
    ASSERT_TRUE(by_bytes) << description(error);
    EXPECT_EQ(word_of(pipeline_of(function(by_bytes, "answer"))), 42u);
}

TEST_F(Library, OfAppleIsNotForThisProcessor) {
    const std::string bytes = "MTLB and then code for an Apple GPU";
    auto data =
        dispatch_data_create(bytes.data(), bytes.size(), nullptr, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    NS::Error* error = nullptr;
    EXPECT_EQ(device->newLibrary(data, &error), nullptr);
    dispatch_release(data);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->code(), MTL::LibraryErrorUnsupported);
    EXPECT_THAT(description(error), testing::HasSubstr("mslc"));
}

TEST_F(Library, OfANewerLanguageIsUnsupported) {
    const auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
    options->setLanguageVersion(MTL::LanguageVersion4_0);
    NS::Error* error = nullptr;
    EXPECT_EQ(device->newLibrary(text(kKernels), options.get(), &error), nullptr);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->code(), MTL::LibraryErrorUnsupported);
    EXPECT_THAT(description(error), testing::HasSubstr("4.0"));
}

TEST_F(Library, SaysThatAFileIsNotThere) {
    NS::Error* error = nullptr;
    const auto* url = NS::URL::fileURLWithPath(text("/nowhere/kernels.metallib"));
    EXPECT_EQ(device->newLibrary(url, &error), nullptr);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->code(), MTL::LibraryErrorFileNotFound);
    EXPECT_THAT(description(error),
                testing::HasSubstr("'/nowhere/kernels.metallib': No such file or directory"));
}

TEST_F(Library, IsNotMadeOfAnyBytes) {
    const std::string bytes = "not a library";
    auto data =
        dispatch_data_create(bytes.data(), bytes.size(), nullptr, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    NS::Error* error = nullptr;
    EXPECT_EQ(device->newLibrary(data, &error), nullptr);
    EXPECT_NE(error, nullptr);
    dispatch_release(data);
}

constexpr const char* kConstants = R"(
#include <metal_stdlib>
using namespace metal;
constant uint width [[function_constant(0)]];
constant bool doubled [[function_constant(1)]];
constant float4 tint [[function_constant(7)]];
kernel void f(device uint* out [[buffer(0)]],
              constant uint& extra [[buffer(1), function_constant(doubled)]]) {
    out[0] = doubled ? width * 2 + extra : width + uint(tint.y);
}
)";

TEST_F(Library, NeedsASource) {
    NS::Error* error = nullptr;
    EXPECT_EQ(device->newLibrary(static_cast<NS::String*>(nullptr), nullptr, &error), nullptr);
    EXPECT_EQ(description(error), "newLibrary: the source is nil");
    std::promise<std::string> told;
    device->newLibrary(static_cast<NS::String*>(nullptr), nullptr,
                       [&](MTL::Library* none, NS::Error* why) {
                           told.set_value(none ? "made" : description(why));
                       });
    EXPECT_EQ(told.get_future().get(), "newLibrary: the source is nil");
    // An empty one is a source without functions.
    EXPECT_EQ(library("")->functionNames()->count(), 0u);
}

class FunctionConstants : public Library {
  protected:
    void SetUp() override {
        Library::SetUp();
        made = library(kConstants);
        constants = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
    }
    void TearDown() override {
        made.reset();
        constants.reset();
        Library::TearDown();
    }
    NS::SharedPtr<MTL::Function> specialised(std::string* why = nullptr) {
        NS::Error* error = nullptr;
        auto result = NS::TransferPtr(made->newFunction(text("f"), constants.get(), &error));
        if (why) *why = description(error);
        EXPECT_TRUE(why || result) << description(error);
        return result;
    }

    NS::SharedPtr<MTL::Library> made;
    NS::SharedPtr<MTL::FunctionConstantValues> constants;
    const uint32_t width = 21;
    const bool yes = true, no = false;
    const float tint[4] = {1, 2, 3, 4};
};

TEST_F(FunctionConstants, AreSetByIndexAndByName) {
    constants->setConstantValue(&width, MTL::DataTypeUInt, NS::UInteger{0});
    constants->setConstantValue(&no, MTL::DataTypeBool, text("doubled"));
    constants->setConstantValue(tint, MTL::DataTypeFloat4, 7);
    EXPECT_EQ(word_of(pipeline_of(specialised())), 23u);
}

TEST_F(FunctionConstants, MakeFunctionsThatDoNotShareThem) {
    constants->setConstantValue(&no, MTL::DataTypeBool, 1);
    constants->setConstantValue(tint, MTL::DataTypeFloat4, 7);
    uint32_t value = 1;
    constants->setConstantValue(&value, MTL::DataTypeUInt, NS::UInteger{0});
    const auto one = pipeline_of(specialised());
    value = 100;
    constants->setConstantValue(&value, MTL::DataTypeUInt, NS::UInteger{0});
    const auto hundred = pipeline_of(specialised());
    EXPECT_EQ(word_of(one), 3u);
    EXPECT_EQ(word_of(hundred), 102u);
}

TEST_F(FunctionConstants, AreSetInARange) {
    const auto two = library(R"(
        constant uint a [[function_constant(3)]];
        constant uint b [[function_constant(4)]];
        kernel void f(device uint* out [[buffer(0)]]) { out[0] = a * 100 + b; })");
    const uint32_t both[] = {5, 6};
    constants->setConstantValues(both, MTL::DataTypeUInt, NS::Range(3, 2));
    NS::Error* error = nullptr;
    const auto f = NS::TransferPtr(two->newFunction(text("f"), constants.get(), &error));
    ASSERT_TRUE(f) << description(error);
    EXPECT_EQ(word_of(pipeline_of(f)), 506u);
}

TEST_F(FunctionConstants, OfAnotherTypeAreRefused) {
    const float wrong = 21;
    constants->setConstantValue(&wrong, MTL::DataTypeFloat, NS::UInteger{0});
    constants->setConstantValue(&no, MTL::DataTypeBool, 1);
    std::string why;
    EXPECT_FALSE(specialised(&why));
    EXPECT_THAT(why, testing::HasSubstr("'width'"));
}

TEST_F(FunctionConstants, ThatAnArgumentDependsOnMustBeSet) {
    constants->setConstantValue(&width, MTL::DataTypeUInt, NS::UInteger{0});
    constants->setConstantValue(tint, MTL::DataTypeFloat4, 7);
    std::string why;
    EXPECT_FALSE(specialised(&why));
    EXPECT_EQ(why,
              "function 'f' depends on function constant 'doubled' (index 1), which has no value");
    // Without any constants there is a function, to ask for its constants, but no pipeline.
    const auto plain = function(made, "f");
    ASSERT_TRUE(plain);
    NS::Error* error = nullptr;
    EXPECT_EQ(device->newComputePipelineState(plain.get(), &error), nullptr);
    EXPECT_THAT(description(error), testing::HasSubstr("depends on function constant"));
}

TEST_F(FunctionConstants, ThatTheKernelReadsMustBeSet) {
    constants->setConstantValue(&width, MTL::DataTypeUInt, NS::UInteger{0});
    constants->setConstantValue(&no, MTL::DataTypeBool, 1);
    std::string why;
    EXPECT_FALSE(specialised(&why));
    EXPECT_THAT(why, testing::HasSubstr("'tint' (index 7)"));
}

TEST_F(FunctionConstants, OfOtherKernelsNeedNotBeSet) {
    const auto several = library(R"(
        #include <metal_stdlib>
        using namespace metal;
        constant uint mine [[function_constant(0)]];
        constant uint others [[function_constant(1)]];
        constant uint optional [[function_constant(2)]];
        constant uint with_default = is_function_constant_defined(optional) ? optional : 7;
        uint help(uint x) { return x + mine; }
        kernel void f(device uint* out [[buffer(0)]]) { out[0] = help(1); }
        kernel void g(device uint* out [[buffer(0)]]) { out[0] = others; }
        kernel void h(device uint* out [[buffer(0)]]) { out[0] = with_default; })");
    constants->setConstantValue(&width, MTL::DataTypeUInt, NS::UInteger{0});
    NS::Error* error = nullptr;
    const auto make = [&](const char* name) {
        return NS::TransferPtr(several->newFunction(text(name), constants.get(), &error));
    };
    EXPECT_EQ(word_of(pipeline_of(make("f"))), 22u);
    EXPECT_EQ(word_of(pipeline_of(make("h"))), 7u);
    EXPECT_FALSE(make("g"));
    EXPECT_THAT(description(error), testing::HasSubstr("'others' (index 1)"));

    auto* of_h = function(several, "h")->functionConstantsDictionary();
    ASSERT_EQ(of_h->count(), 1u);
    EXPECT_FALSE(of_h->object<MTL::FunctionConstant>(text("optional"))->required());
}

TEST_F(FunctionConstants, AreDescribedByTheFunction) {
    auto* all = function(made, "f")->functionConstantsDictionary();
    ASSERT_EQ(all->count(), 3u);
    auto* constant = all->object<MTL::FunctionConstant>(text("doubled"));
    ASSERT_NE(constant, nullptr);
    EXPECT_EQ(text(constant->name()), "doubled");
    EXPECT_EQ(constant->index(), 1u);
    EXPECT_EQ(constant->type(), MTL::DataTypeBool);
    EXPECT_TRUE(constant->required());
    EXPECT_EQ(all->object<MTL::FunctionConstant>(text("tint"))->type(), MTL::DataTypeFloat4);
}

TEST_F(FunctionConstants, AreForgottenOnReset) {
    constants->setConstantValue(&width, MTL::DataTypeUInt, NS::UInteger{0});
    constants->setConstantValue(&no, MTL::DataTypeBool, 1);
    constants->reset();
    std::string why;
    EXPECT_FALSE(specialised(&why));
    EXPECT_THAT(why, testing::HasSubstr("'doubled'"));
}

TEST_F(FunctionConstants, ComeWithADescriptorToo) {
    constants->setConstantValue(&width, MTL::DataTypeUInt, NS::UInteger{0});
    constants->setConstantValue(&no, MTL::DataTypeBool, 1);
    constants->setConstantValue(tint, MTL::DataTypeFloat4, 7);
    auto* descriptor = MTL::FunctionDescriptor::functionDescriptor();
    descriptor->setName(text("f"));
    descriptor->setConstantValues(constants.get());
    NS::Error* error = nullptr;
    const auto f = NS::TransferPtr(made->newFunction(descriptor, &error));
    ASSERT_TRUE(f) << description(error);
    EXPECT_EQ(word_of(pipeline_of(f)), 23u);
}

TEST_F(FunctionConstants, ComeInTheBackgroundToo) {
    constants->setConstantValue(&width, MTL::DataTypeUInt, NS::UInteger{0});
    constants->setConstantValue(&no, MTL::DataTypeBool, 1);
    constants->setConstantValue(tint, MTL::DataTypeFloat4, 7);
    std::promise<NS::SharedPtr<MTL::Function>> told;
    made->newFunction(
        text("f"), constants.get(),
        MTL::FunctionCompletionHandlerFunction(
            [&](MTL::Function* function, NS::Error*) { told.set_value(NS::RetainPtr(function)); }));
    const auto f = told.get_future().get();
    ASSERT_TRUE(f);
    EXPECT_EQ(word_of(pipeline_of(f)), 23u);
}

}  // namespace
}  // namespace softmetal::test
