#include "plugin/engine_options.h"

namespace thinwire::plugin {

namespace {

// Changes whenever two builds could disagree on what travels: plans, geometry, tags, codecs.
constexpr int kCollectiveProtocol = 1;

compression::CodecId codec_of(CompressChoice choice) {
  switch (choice) {
    case CompressChoice::fp16:
      return compression::CodecId::fp16;
    case CompressChoice::int8:
      return compression::CodecId::int8;
    case CompressChoice::none:
      break;
  }
  return compression::CodecId::none;
}

collectives::SchedulePolicy policy_of(ScheduleChoice choice) {
  switch (choice) {
    case ScheduleChoice::ring:
      return collectives::SchedulePolicy::ring;
    case ScheduleChoice::direct:
      return collectives::SchedulePolicy::direct;
    case ScheduleChoice::automatic:
      break;
  }
  return collectives::SchedulePolicy::automatic;
}

}  // namespace

collectives::EngineOptions engine_options(const Config& config) {
  collectives::EngineOptions options;
  options.schedule = policy_of(config.schedule);
  options.codec = codec_of(config.compress);
  options.compress_min_bytes = static_cast<std::size_t>(config.compress_min_bytes);
  options.piece_bytes = static_cast<std::size_t>(config.piece_bytes);
  return options;
}

std::string settings_text(const Config& config) {
  std::string text = "collective protocol=" + std::to_string(kCollectiveProtocol) + "\n";
  for (const std::string& setting : agreed_settings(config)) text += setting + "\n";
  return text;
}

}  // namespace thinwire::plugin
