// SPDX-License-Identifier: Apache-2.0
// The multiplication reads the panels in the memory of the GPUs that they started on.
#include "cannon/gpu/styles/peer_reader.hpp"

namespace slowpath::cannon::gpu {
namespace {

class SharedDirect : public PeerReader {
  public:
    using PeerReader::PeerReader;

  protected:
    void multiply(int step, int k) override {
        stage_.multiply(step, stage_.peers->a(k).pointer, stage_.peers->b(k).pointer);
    }
};

}  // namespace

const StyleKind shared_direct{"shared_direct", false, true, true, make<SharedDirect>};

}  // namespace slowpath::cannon::gpu
