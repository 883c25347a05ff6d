// SPDX-License-Identifier: Apache-2.0
/// A 2-D halo exchange with a stencil between, to try `slowpath watch` on: each switch plants a slow path
/// (README.md), and its other value is the remedy. The checksum depends on none of them.
#include <mpi.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "options.hpp"

namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
enum Side { north, south, west, east };
constexpr std::array<Side, 4> sides = {north, south, west, east};

struct Free {
    void operator()(double* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<double, Free>;

/// @param bytes wanted.  @return memory from malloc: on small pages, or whole huge pages where the kernel has
/// some.
Memory allocate(std::size_t bytes, bool huge_pages, bool odd) {
    if (!huge_pages) return Memory(static_cast<double*>(std::malloc(bytes + (odd ? 8 : 0))));
    const std::size_t whole = (bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
    void* memory = nullptr;
    if (posix_memalign(&memory, huge_page_bytes, odd ? whole + 8 : whole) != 0) std::abort();
    madvise(memory, whole, MADV_HUGEPAGE);
    return Memory(static_cast<double*>(memory));
}

/// A rank's tile of the domain, one ghost cell around; two of them, as Jacobi sweeps need.
class Tile {
  public:
    Tile(int rows, int columns, int first_row, int first_column)
        : rows_(rows),
          columns_(columns),
          first_row_(first_row),
          first_column_(first_column),
          stride_(static_cast<std::size_t>(columns) + 2) {
        const std::size_t cells = stride_ * (static_cast<std::size_t>(rows) + 2);
        for (auto* grid : {&now_, &next_}) {  // always on huge pages: no switch changes what computing costs
            *grid = allocate(cells * sizeof(double), true, false);
            std::fill_n(grid->get(), cells, 1.0);  // the domain's rim stays so
        }
        for (int row = 0; row < rows; ++row)
            for (int column = 0; column < columns; ++column)
                *at(row, column) = static_cast<double>((std::int64_t{7919} * (first_row + row) +
                                                        std::int64_t{104729} * (first_column + column)) %
                                                       1000003) /
                                   1000.0;
    }

    double* at(int row, int column) {
        return now_.get() + static_cast<std::size_t>(row + 1) * stride_ +
               static_cast<std::size_t>(column + 1);
    }

    void sweep() {
        for (int row = 0; row < rows_; ++row) {
            const double* here = at(row, 0);
            double* to = next_.get() + (here - now_.get());
            const double* above = here - stride_;
            const double* below = here + stride_;
            for (int column = 0; column < columns_; ++column)
                to[column] = 0.2 * ((above[column] + below[column]) + (here[column - 1] + here[column + 1]) +
                                    here[column]);
        }
        for (const Side side : sides) copy_ghosts(side);
        now_.swap(next_);
    }

    /// First cell of the row or column that `side` sends, or of the ghost cells that it receives.
    double* edge(Side side, bool ghost) {
        if (side == north) return at(ghost ? -1 : 0, 0);
        if (side == south) return at(ghost ? rows_ : rows_ - 1, 0);
        return side == west ? at(0, ghost ? -1 : 0) : at(0, ghost ? columns_ : columns_ - 1);
    }
    bool is_row(Side side) const { return side == north || side == south; }
    int cells(Side side) const { return is_row(side) ? columns_ : rows_; }
    std::size_t step(Side side) const { return is_row(side) ? 1 : stride_; }

    /// XOR of all cells' bits, each turned by its place: no order of adding up, no rounding.
    std::uint64_t checksum() {
        std::uint64_t sum = 0, bits;
        for (int row = 0; row < rows_; ++row)
            for (int column = 0; column < columns_; ++column) {
                std::memcpy(&bits, at(row, column), 8);
                const auto turn = 1 + (std::int64_t{31} * (first_row_ + row) + first_column_ + column) % 63;
                sum ^= bits << turn | bits >> (64 - turn);
            }
        return sum;
    }

  private:
    /// With more than one sweep between exchanges the ghost cells keep their values.
    void copy_ghosts(Side side) {
        const double* from = edge(side, true);
        double* to = next_.get() + (from - now_.get());
        for (int i = 0; i < cells(side); ++i) to[i * step(side)] = from[i * step(side)];
    }
    int rows_, columns_, first_row_, first_column_;
    std::size_t stride_;
    Memory now_, next_;
};

class Exchange {
  public:
    Exchange(const Options& options, Tile& tile, MPI_Comm grid)
        : options_(options), tile_(tile), grid_(grid) {
        MPI_Cart_shift(grid, 0, 1, &neighbours_[north], &neighbours_[south]);
        MPI_Cart_shift(grid, 1, 1, &neighbours_[west], &neighbours_[east]);
        MPI_Type_vector(options.rows, 1, options.columns + 2, MPI_DOUBLE, &column_);
        MPI_Type_commit(&column_);
        if (!options.fresh) make_buffers();
        if (options.window == Options::Window::once) make_windows();
    }
    ~Exchange() {
        free_windows();
        MPI_Type_free(&column_);
    }
    Exchange(const Exchange&) = delete;

    void operator()() {
        if (options_.fresh) make_buffers();
        for (const Side side : sides)
            if (is_packed(side)) copy(side, false, outbox_[side].get());
        if (options_.window == Options::Window::none)
            send_and_receive();
        else
            put();
        for (const Side side : sides)
            if (is_packed(side)) copy(side, true, inbox_[side].get());
        if (options_.fresh) free_buffers();
    }

  private:
    bool has(Side side) const { return neighbours_[side] != MPI_PROC_NULL; }
    bool is_packed(Side side) const { return has(side) && (tile_.is_row(side) || !options_.small_blocks); }
    static Side opposite(Side side) { return static_cast<Side>(side ^ 1); }

    void copy(Side side, bool into_ghosts, double* buffer) {
        double* cells = tile_.edge(side, into_ghosts);
        const std::size_t step = tile_.step(side);
        for (int i = 0; i < tile_.cells(side); ++i) {
            if (into_ghosts)
                cells[i * step] = buffer[i];
            else
                buffer[i] = cells[i * step];
        }
    }

    void make_buffers() {
        for (const Side side : sides)
            if (is_packed(side)) {
                const std::size_t bytes = static_cast<std::size_t>(tile_.cells(side)) * sizeof(double);
                for (auto* box : {&outbox_, &inbox_})
                    (*box)[side] = allocate(bytes, options_.huge_pages, options_.odd);
            }
    }
    void free_buffers() {
        for (const Side side : sides) outbox_[side].reset(), inbox_[side].reset();
    }

    void send_and_receive() {
        std::array<MPI_Request, 8> requests;
        int count = 0;
        for (const Side side : sides) {
            if (!has(side)) continue;
            if (is_packed(side))
                MPI_Irecv(inbox_[side].get(), tile_.cells(side), MPI_DOUBLE, neighbours_[side], side, grid_,
                          &requests[count++]);
            else
                MPI_Irecv(tile_.edge(side, true), 1, column_, neighbours_[side], side, grid_,
                          &requests[count++]);
        }
        for (const Side side : sides) {
            if (!has(side)) continue;
            if (is_packed(side))
                MPI_Isend(outbox_[side].get(), tile_.cells(side), MPI_DOUBLE, neighbours_[side],
                          opposite(side), grid_, &requests[count++]);
            else
                MPI_Isend(tile_.edge(side, false), 1, column_, neighbours_[side], opposite(side), grid_,
                          &requests[count++]);
        }
        MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
    }

    /// One window a side; where there is no neighbour it is empty.
    void make_windows() {
        for (const Side side : sides) {
            const MPI_Aint bytes = is_packed(side) ? static_cast<MPI_Aint>(tile_.cells(side)) * 8 : 0;
            MPI_Win_create(inbox_[side].get(), bytes, 8, MPI_INFO_NULL, grid_, &windows_[side]);
        }
    }
    void free_windows() {
        for (MPI_Win& window : windows_)
            if (window != MPI_WIN_NULL) MPI_Win_free(&window);
    }
    void put() {
        if (options_.window == Options::Window::each) make_windows();
        for (const MPI_Win window : windows_) MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
        for (const Side side : sides)
            if (has(side))
                MPI_Put(outbox_[side].get(), tile_.cells(side), MPI_DOUBLE, neighbours_[side], 0,
                        tile_.cells(side), MPI_DOUBLE, windows_[opposite(side)]);
        for (const MPI_Win window : windows_) MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
        if (options_.window == Options::Window::each) free_windows();
    }

    const Options& options_;
    Tile& tile_;
    MPI_Comm grid_;
    MPI_Datatype column_ = MPI_DATATYPE_NULL;
    std::array<int, 4> neighbours_{};
    std::array<Memory, 4> outbox_, inbox_;
    std::array<MPI_Win, 4> windows_ = {MPI_WIN_NULL, MPI_WIN_NULL, MPI_WIN_NULL, MPI_WIN_NULL};
};

/// Small messages to the next rank of a ring. Posted: receives are there before anybody sends.
/// A flood: they are posted after the computation, when the messages have long come.
class Notes {
  public:
    Notes(const Options& options, MPI_Comm grid) : options_(options), grid_(grid) {
        int rank, size;
        MPI_Comm_rank(grid, &rank);
        MPI_Comm_size(grid, &size);
        next_ = (rank + 1) % size;
        previous_ = (rank + size - 1) % size;
        const std::size_t bytes = static_cast<std::size_t>(options.notes) * options.note_bytes;
        out_.assign(bytes, static_cast<char>(rank + 1));
        in_.resize(bytes);
        sends_.resize(options.notes);
        receives_.resize(options.notes);
        if (!options.is_flood) post();
    }
    void send() {
        for (int i = 0; i < options_.notes; ++i)
            MPI_Isend(at(out_, i), options_.note_bytes, MPI_BYTE, next_, 9, grid_, &sends_[i]);
    }
    void receive(bool is_last) {
        if (options_.is_flood) post();
        MPI_Waitall(options_.notes, receives_.data(), MPI_STATUSES_IGNORE);
        for (int i = 0; i < options_.notes; ++i) sum_ += static_cast<unsigned char>(*at(in_, i));
        if (!options_.is_flood && !is_last) post();
        MPI_Waitall(options_.notes, sends_.data(), MPI_STATUSES_IGNORE);
    }
    std::uint64_t checksum() const { return sum_; }

  private:
    char* at(std::vector<char>& notes, int i) {
        return notes.data() + static_cast<std::size_t>(i) * options_.note_bytes;
    }
    void post() {
        for (int i = 0; i < options_.notes; ++i)
            MPI_Irecv(at(in_, i), options_.note_bytes, MPI_BYTE, previous_, 9, grid_, &receives_[i]);
    }
    const Options& options_;
    MPI_Comm grid_;
    int next_, previous_;
    std::vector<char> out_, in_;
    std::vector<MPI_Request> sends_, receives_;
    std::uint64_t sum_ = 0;
};

void sleep_s(double seconds) {
    timespec left{static_cast<time_t>(seconds),
                  static_cast<long>((seconds - static_cast<time_t>(seconds)) * 1e9)};
    while (nanosleep(&left, &left) != 0) {
    }
}

/// @return seconds that the slowest rank's loop took.
double iterate(const Options& options, Tile& tile, Exchange& exchange, Notes& notes, MPI_Comm grid,
               int rank) {
    MPI_Barrier(grid);
    const double start_s = MPI_Wtime();
    for (int i = 0; i < options.iterations; ++i) {
        notes.send();
        for (int sweep = 0; sweep < options.work; ++sweep) tile.sweep();
        if (rank == options.late_rank) sleep_s(options.late_s);
        notes.receive(i + 1 == options.iterations);
        exchange();
    }
    double loop_s = MPI_Wtime() - start_s;
    MPI_Allreduce(MPI_IN_PLACE, &loop_s, 1, MPI_DOUBLE, MPI_MAX, grid);
    return loop_s;
}

void run(const Options& options) {
    int ranks, rank;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::array<int, 2> shape = {options.ranks_down, options.ranks_over}, periodic = {0, 0}, place;
    if (shape[0] * shape[1] == 0) MPI_Dims_create(ranks, 2, shape.data());
    if (shape[0] * shape[1] != ranks) throw std::invalid_argument("--grid takes as many ranks as there are");
    if (options.window != Options::Window::none && options.small_blocks)
        throw std::invalid_argument("--window puts from packed buffers: leave out --blocks 8");
    if (options.window == Options::Window::once && options.fresh)
        throw std::invalid_argument("--fresh needs a window for each exchange: --window each");
    MPI_Comm grid;
    MPI_Cart_create(MPI_COMM_WORLD, 2, shape.data(), periodic.data(), 0, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 2, place.data());
    Tile tile(options.rows, options.columns, place[0] * options.rows, place[1] * options.columns);
    double loop_s = 0;
    std::uint64_t sum = 0;
    {
        Exchange exchange(options, tile, grid);
        Notes notes(options, grid);
        loop_s = iterate(options, tile, exchange, notes, grid, rank);
        sum = tile.checksum() ^ (notes.checksum() << (rank % 8));
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_BXOR, grid);
    if (rank == 0)
        std::printf(
            "halo: %d ranks %d x %d, tiles of %d x %d, %d iterations\nchecksum %016llX\nloop %.6f s\n", ranks,
            shape[0], shape[1], options.rows, options.columns, options.iterations,
            static_cast<unsigned long long>(sum), loop_s);
    MPI_Comm_free(&grid);
}

}  // namespace

int main(int count, char** words) {
    MPI_Init(&count, &words);
    int code = 0, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        run(parse(count, words));
    } catch (const std::invalid_argument& error) {
        if (rank == 0) std::fprintf(stderr, "halo: %s\n", error.what());
        code = 2;
    }
    MPI_Finalize();
    return code;
}
