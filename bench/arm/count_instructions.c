// SPDX-License-Identifier: Apache-2.0
// A plugin of QEMU's user-mode emulation that counts the instructions a program executes and writes their
// number to QEMU's log: qemu-aarch64 -plugin libcount_instructions.so -d plugin -D LOG PROGRAM.
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// What is needed of the plugin API, version 1, as include/qemu/qemu-plugin.h declares it. Distributions do
// not package that header.
typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_info_t qemu_info_t;
struct qemu_plugin_tb;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
typedef void (*translated_t)(qemu_plugin_id_t id, struct qemu_plugin_tb* block);
typedef void (*at_exit_t)(qemu_plugin_id_t id, void* context);
extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, translated_t translated);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* block, enum qemu_plugin_op op,
                                                     void* counter, uint64_t addend);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, at_exit_t at_exit, void* context);
extern void qemu_plugin_outs(const char* text);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t executed;

// A translated block runs from its first instruction to its last, unless one faults.
static void count_block(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64, &executed,
                                           qemu_plugin_tb_n_insns(block));
}

static void report(qemu_plugin_id_t id, void* context) {
  (void)id, (void)context;
  char text[64];
  snprintf(text, sizeof text, "executed instructions: %" PRIu64 "\n", executed);
  qemu_plugin_outs(text);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info,
                                                               int argc, char** argv) {
  (void)info, (void)argc, (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
  qemu_plugin_register_atexit_cb(id, report, NULL);
  return 0;
}
