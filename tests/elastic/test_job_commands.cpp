// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: Paddle's elastic command (scale needs a job, clean removes it) and what the header promises, with a
// real etcd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "elastic/job_commands.hpp"
#include "etcd_server.hpp"
#include "support/message_of.hpp"

namespace dtrain::elastic {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::message_of;

class JobCommands : public tests::EtcdTest {
  protected:
    void SetUp() override {
        EtcdTest::SetUp();
        if (IsSkipped()) return;
        server_.emplace();
        client_.emplace(server_->access());
    }

    JobView view() { return job_view(keys_, client_->get_prefix(keys_.state())); }
    void end_with(std::string_view state, int status) {
        client_->put(Change::put(keys_.state(), std::string(state)));
        client_->put(Change::put(keys_.outcome(), std::to_string(status)));
        client_->put(Change::put(keys_.start(), to_json(Start{.number = 3})));
    }

    const JobKeys keys_{"job1"};
    std::optional<tests::EtcdServer> server_;
    std::optional<EtcdClient> client_;
};

TEST_F(JobCommands, TheFirstNodeOpensTheJob) {
    const auto opened = open_job(*client_, keys_, {2, 4}, false);
    EXPECT_EQ(opened.wanted, (NodeCount{2, 4}));
    EXPECT_EQ(opened.ended, std::nullopt);
    EXPECT_EQ(opened.notice, std::nullopt);
    EXPECT_EQ(view().state, "running");
    EXPECT_EQ(view().wanted, (NodeCount{2, 4}));
}

TEST_F(JobCommands, LaterNodesDoNotUndoAScale) {
    open_job(*client_, keys_, {2, 2}, false);
    EXPECT_EQ(scale_job(*client_, keys_, "+1"), (NodeCount{3, 3}));
    const auto again = open_job(*client_, keys_, {2, 2}, false);
    EXPECT_EQ(again.wanted, (NodeCount{3, 3}));
    EXPECT_THAT(again.notice.value_or(""), AllOf(HasSubstr("3 nodes"), HasSubstr("--force")));
    EXPECT_EQ(open_job(*client_, keys_, {2, 2}, true).wanted, (NodeCount{2, 2}));
    EXPECT_EQ(view().wanted, (NodeCount{2, 2}));
}

TEST_F(JobCommands, ACompletedJobIsNotRunAgainUnlessForced) {
    open_job(*client_, keys_, {1, 1}, false);
    end_with(state_completed, 0);
    EXPECT_EQ(open_job(*client_, keys_, {1, 1}, false).ended, 0);
    EXPECT_EQ(view().state, "completed");
    EXPECT_EQ(open_job(*client_, keys_, {1, 1}, true).ended, std::nullopt);
    EXPECT_EQ(view().state, "running");
    EXPECT_EQ(view().start, std::nullopt) << "it begins anew";
    EXPECT_EQ(view().outcome, std::nullopt);
}

TEST_F(JobCommands, AFailedJobBeginsAnew) {
    open_job(*client_, keys_, {1, 1}, false);
    end_with(state_failed, 3);
    EXPECT_EQ(open_job(*client_, keys_, {1, 1}, false).ended, std::nullopt);
    EXPECT_EQ(view().state, "running");
    EXPECT_EQ(view().start, std::nullopt);
}

TEST_F(JobCommands, ScaleAndResizeNeedAJob) {
    EXPECT_THAT(message_of([&] { scale_job(*client_, keys_, "1"); }), HasSubstr("no such job"));
    EXPECT_THAT(message_of([&] { resize_job(*client_, keys_, {3, 3}); }), HasSubstr("no such job"));
    open_job(*client_, keys_, {2, 2}, false);
    resize_job(*client_, keys_, {3, 5});
    EXPECT_EQ(view().wanted, (NodeCount{3, 5}));
    EXPECT_THAT(message_of([&] { scale_job(*client_, keys_, "-5"); }), HasSubstr("--scale -5"));
    EXPECT_EQ(view().wanted, (NodeCount{3, 5}));
}

TEST_F(JobCommands, CleanRemovesOneJobOnly) {
    const JobKeys other("job10");
    open_job(*client_, keys_, {2, 2}, false);
    open_job(*client_, other, {2, 2}, false);
    const Node node{.name = "10.0.0.1", .address = "10.0.0.1"};
    client_->put(Change::put(keys_.node(node.name), to_json(node)));
    EXPECT_THAT(message_of([&] { clean_job(*client_, keys_, false); }),
                AllOf(HasSubstr("10.0.0.1"), HasSubstr("--force")));
    EXPECT_EQ(view().state, "running");
    clean_job(*client_, keys_, true);
    EXPECT_EQ(view().state, "");
    EXPECT_THAT(view().nodes, IsEmpty());
    EXPECT_EQ(job_view(other, client_->get_prefix(other.state())).state, "running");
}

}  // namespace
}  // namespace dtrain::elastic
