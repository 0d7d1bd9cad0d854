/* What G-SC-2 and G-RM-1 are compared with: rank 0 broadcasts, and a barrier says
 * that all have it. Rank 0 prints how long each took, in nanoseconds, a line each.
 * Arguments: bytes, repetitions that do not count, repetitions; and "alone" to
 * time the broadcast without the barrier, up to when the last rank has it. For
 * that the clocks of all ranks have to be one. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	if (argc != 4 && argc != 5)
		MPI_Abort(MPI_COMM_WORLD, 2);
	int bytes = atoi(argv[1]), warm = atoi(argv[2]), count = atoi(argv[3]), rank;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	char *buf = calloc(1, bytes);
	double *took = calloc(count, sizeof *took);
	if (!buf || !took)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = -warm; i < count; i++) {
		double began = now(), ended, last;
		MPI_Bcast(buf, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
		ended = now();
		MPI_Barrier(MPI_COMM_WORLD);
		if (argc == 4)
			last = now();
		else
			MPI_Reduce(&ended, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
		if (i >= 0)
			took[i] = last - began;
		if (argc == 5) /* nobody is early in the next one */
			MPI_Barrier(MPI_COMM_WORLD);
	}
	if (rank == 0)
		for (int i = 0; i < count; i++)
			printf("%.0f\n", took[i] * 1e9);
	MPI_Finalize();
	return 0;
}
